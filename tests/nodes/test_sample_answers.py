"""Several chains of thought to one prompt."""

from collections.abc import Sequence
from typing import Any

from hopgraph.nodes.sample_answers import answer_of_sample, best_cited, citation_recalls, sample_answers_with, vote
from hopgraph.state import Context
from hopgraph.state.baselines import CotScContext
from support.node_inputs import draft, evidence, model_call, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel

SAMPLE = sample_answers_with(own_knowledge=True)


async def test_samples_share_a_prompt_and_differ_in_their_seed() -> None:
    model = ScriptedChatModel(replies=[f'{{"answer": "{said}"}}' for said in ("Lima", "Oslo", "Lima")])
    settings = CotScContext(model=model, samples=3, seed=7, max_parallel_calls=1)
    state: Any = {"question": "Where?", "stop_reason": None, **spent()}
    update = await SAMPLE(state, node_runtime(settings))
    assert sorted(each["answer"] for each in update["drafts"]) == ["Lima", "Lima", "Oslo"]
    assert len({call.messages[-1].text for call in model.calls}) == 1
    assert update["stop_reason"] is None


async def test_samples_that_the_budget_does_not_reach_are_left_out() -> None:
    settings = CotScContext(model=ScriptedChatModel(replies=['{"answer": "Lima"}']), samples=3, max_llm_calls=2)
    state: Any = {"question": "Where?", "stop_reason": None, **spent(model_call())}
    update = await SAMPLE(state, node_runtime(settings))
    assert ([each["answer"] for each in update["drafts"]], update["stop_reason"]) == (["Lima"], "budget")


async def test_the_majority_answers_with_its_first_reasoning() -> None:
    piece = evidence(1, "s", "a")
    drafts = [draft("Lima", "x"), draft("The Oslo", "first", piece), draft("oslo.", "second"), draft("", "none")]
    state: Any = {"question": "Where?", "drafts": drafts, "stop_reason": None}
    update = await vote(state, node_runtime(Context()))
    assert (update["answer"], update["explanation"], update["used"]) == ("The Oslo", "first", ["1.1.1"])


async def test_without_an_answer_nothing_is_chosen() -> None:
    state: Any = {"question": "Where?", "drafts": [draft("", "thought")], "stop_reason": "budget"}
    update = await vote(state, node_runtime(Context()))
    assert (update["answer"], update["explanation"], update["stop_reason"]) == ("", "thought", "budget")
    assert answer_of_sample([], None).reasoning == ""


PASSAGES = [passage("a", "Lima is in Peru."), passage("b", "Cats purr.")]


class Contains:
    """Entails what the premise contains."""

    name, threshold = "contains", 0.5

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(statement in premise) for premise, statement in pairs]


def test_recall_is_the_share_of_statements_that_the_cited_passages_entail() -> None:
    by_id = {each["id"]: each for each in PASSAGES}
    drafts = [
        draft("Peru", "Lima is in Peru. Cats bark.", evidence(1, "s", "a", "b")),
        draft("Peru", "Lima is in Peru.", evidence(1, "s", "a")),
        draft("Peru", "Lima is in Peru."),
        draft("Cats purr.", "", evidence(1, "s", "b")),
    ]
    assert citation_recalls(Contains(), drafts, by_id, "What do cats do?") == [0.5, 1.0, 0.0, 0.0]
    assert citation_recalls(Contains(), [], by_id, "q") == []


async def test_a_sample_without_an_answer_is_never_chosen() -> None:
    drafts = [
        draft("", "Lima is in Peru.", evidence(1, "s", "a")),
        draft("Oslo", "Oslo is in Norway.", evidence(1, "s", "b")),
        draft("Peru", "Lima is in Peru.", evidence(1, "s", "a")),
    ]
    state: Any = {"question": "Where?", "drafts": drafts, "passages": PASSAGES, "stop_reason": None}
    assert (await best_cited(state, node_runtime(Context())))["answer"] == "Peru"
    state["drafts"] = drafts[:1]
    unanswered = await best_cited(state, node_runtime(Context()))
    assert (unanswered["answer"], unanswered["stop_reason"]) == ("", "unanswerable")
