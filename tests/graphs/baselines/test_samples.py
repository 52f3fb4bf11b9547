"""CoT-SC and RERANK: how answers are sampled, and which one is taken."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import Field

from hopgraph.state import SettingsError
from support.baselines_script import BORN, DIRECTED, METHODS, go, replies, sampled, titles
from support.servers.scripted_model import ScriptedChatModel
from support.walks import Script


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["Riga", "Tallinn", "tallinn.", "Riga ", "The TALLINN"], "Tallinn"),
        (["Riga", "Tallinn", "Tallinn", "Riga", "Narva"], "Riga"),
        (["unanswerable", "unanswerable", "unanswerable", "unanswerable", "Narva"], "Narva"),
        (["unanswerable"] * 5, ""),
    ],
    ids=["majority", "tie", "no vote", "none"],
)
def test_the_majority_of_the_samples_is_the_answer(answers: list[str], expected: str) -> None:
    run, script = go("cot_sc", {"answer_step_by_step": sampled(*answers)})
    assert run.result["answer"] == expected
    assert script.steps == ["answer_step_by_step"] * 5


def test_the_number_of_samples_is_a_setting() -> None:
    assert len(go("cot_sc", samples=3)[1].steps) == 3
    assert len(go("rerank", samples=1)[1].steps) == 1


class Sampling(ScriptedChatModel):
    """Records how each call is to be sampled."""

    drawn: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.drawn.append({key: kwargs[key] for key in ("temperature", "seed") if key in kwargs})
        return await super()._agenerate(messages, *args, **kwargs)


@pytest.mark.parametrize("method", ["cot_sc", "rerank"])
def test_samples_are_drawn_at_a_temperature_each_with_its_own_seed(method: str) -> None:
    model = Sampling(replies=Script(replies()))
    go(method, model=model, samples=2, temperature=0.0)
    default = METHODS[method].Context().sample_temperature
    assert model.drawn == [{"temperature": default}] * 2
    model = Sampling(replies=Script(replies()))
    go(method, model=model, samples=2, sample_temperature=1.1, seed=40)
    assert model.drawn == [{"temperature": 1.1, "seed": 40}, {"temperature": 1.1, "seed": 41}]


def test_a_temperature_at_which_all_samples_are_equal_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"'sample_temperature'.*greater than 0"):
        METHODS["cot_sc"].Context.preset("multi_hop", sample_temperature=0)


def test_samples_in_the_cache_stay_apart(tmp_path: Any) -> None:
    answers = sampled("Riga", "Tallinn", "Tallinn", "Narva", "Riga")
    first, script = go("cot_sc", {"answer_step_by_step": answers}, cache_dir=str(tmp_path))
    again, unasked = go("cot_sc", {"answer_step_by_step": []}, cache_dir=str(tmp_path))
    assert (len(script.steps), unasked.steps) == (5, [])
    assert [each.state["drafts"] for each in (first, again)] == [first.state["drafts"]] * 2


@pytest.mark.parametrize(
    ("reasons", "used", "expected"),
    [
        ([f"{BORN} She lived in Riga.", BORN, BORN, BORN], [[1], [1], [1], [1]], "b"),
        ([BORN, BORN, BORN, BORN], [[3], [], [2], [1]], "d"),
        ([DIRECTED, BORN, f"{BORN} {DIRECTED}", ""], [[3], [2], [1, 2], [3]], "c"),
        (["Ada Brink lived in Riga."] * 4, [[1]] * 4, "a"),
        ([BORN] * 4, [[]] * 4, "a"),
    ],
    ids=["a sentence too much", "other passages", "two passages", "tie at nothing", "no citations"],
)
def test_rerank_takes_the_sample_with_the_best_citation_recall(
    reasons: list[str], used: list[list[int]], expected: str
) -> None:
    run, script = go("rerank", {"answer_step_by_step": sampled("a", "b", "c", "d", reasons=reasons, used=used)})
    assert titles(script.prompts[0]) == ["Ada Brink", "Night Harbour", "Harbour"]
    assert run.result["answer"] == expected


def test_a_sample_that_cites_nothing_has_no_citation_recall_whatever_the_checker_says() -> None:
    class Credulous:
        name = "credulous"
        threshold = 0.5

        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [1.0 for _ in pairs]

    answers = sampled("a", "b", "c", "d", used=[[], [1], [1], []])
    run, _ = go("rerank", {"answer_step_by_step": answers}, entailment=Credulous())
    [compared] = [event["data"] for event in run.events if event["event"] == "compared"]
    assert (compared["chosen"], compared["citation_recall"]) == (1, [0.0, 1.0, 1.0, 0.0])


def test_rerank_never_takes_a_sample_without_an_answer() -> None:
    answers = sampled("unanswerable", "Riga", "unanswerable", "x", used=[[1], [3], [1], []])
    run, _ = go("rerank", {"answer_step_by_step": answers})
    assert run.result["answer"] == "Riga"
    [compared] = [event["data"] for event in run.events if event["event"] == "compared"]
    assert (compared["chosen"], compared["citation_recall"]) == (1, [0.0, 0.0, 0.0, 0.0])
