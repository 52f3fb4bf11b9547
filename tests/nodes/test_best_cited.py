"""Citation recall, and the sample that has the best."""

from collections.abc import Sequence
from typing import Any

from hopgraph.nodes.sampling import best_cited
from hopgraph.state import Call, Context
from hopgraph.tools.scoring.pair_scorers import JudgeScorer
from support.node_inputs import draft, evidence, model_call, node_runtime, passage

PASSAGES = [passage("a", "Lima is in Peru."), passage("b", "Cats purr.")]


class Contains:
    """Entails what the premise contains."""

    name, threshold = "contains", 0.5

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(statement in premise) for premise, statement in pairs]


async def test_recall_is_the_share_of_statements_that_the_cited_passages_entail() -> None:
    drafts = [
        draft("Peru", "Lima is in Peru. Cats bark.", evidence(1, "s", "a", "b")),
        draft("Peru", "Lima is in Peru.", evidence(1, "s", "a")),
        draft("Peru", "Lima is in Peru."),
        draft("Cats purr.", "", evidence(1, "s", "b")),
    ]
    events: list[Any] = []
    state: Any = {"question": "What do cats do?", "drafts": drafts, "passages": PASSAGES, "stop_reason": None}
    await best_cited(state, node_runtime(Context(entailment=Contains()), events))
    compared = next(event["data"] for event in events if event["event"] == "compared")
    assert (compared["citation_recall"], compared["chosen"]) == ([0.5, 1.0, 0.0, 0.0], 1)


async def test_the_calls_of_a_checker_that_asks_a_model_are_counted() -> None:
    async def check(pairs: Sequence[tuple[str, str]]) -> tuple[list[float], list[Call]]:
        return Contains().score(pairs), [model_call() for _ in pairs]

    drafts = [draft("Peru", "Lima is in Peru. Cats bark.", evidence(1, "s", "a"))]
    state: Any = {"question": "Where?", "drafts": drafts, "passages": PASSAGES, "stop_reason": None}
    update = await best_cited(state, node_runtime(Context(entailment=JudgeScorer("judge", 0.5, check))))
    assert list(update["calls"].values()) == [model_call(), model_call()]


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
    state["drafts"] = []
    assert (await best_cited(state, node_runtime(Context())))["stop_reason"] == "unanswerable"
