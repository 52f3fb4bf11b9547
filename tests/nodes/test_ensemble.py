"""An answer from each passage by itself, and their scores under every passage, weighted by its similarity."""

import json
import math
from typing import Any

import pytest

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.ensemble import ensemble, propose_answers
from hopgraph.state import Draft, Knowledge, StepEvent
from hopgraph.state.baselines import ReplugContext
from support.node_inputs import evidence, node_runtime, passage, spent
from support.servers.scripted_model import ScriptedChatModel

Logs = dict[str, float]


def state(answers: list[str], scores: list[float]) -> Any:
    found = [passage(f"p{number}", f"Text {number}.") for number in range(len(scores))]
    excerpts = [whole_excerpt(each, score) for each, score in zip(found, scores, strict=True)]
    drafts = [
        Draft(reasoning="", answer=said, evidence=[evidence(number, said, f"p{number}")])
        for number, said in enumerate(answers)
    ]
    knowledge = [Knowledge(query="q", excerpts=excerpts)]
    given = {"question": "Where?", "passages": found, "knowledge": knowledge, "drafts": drafts, "stop_reason": None}
    return {**given, **spent()}


def scorer(*logs: Logs | None) -> ScriptedChatModel:
    """Give an answer the log-probability that it has under the passage of this number; None: no usable reply."""

    def reply(_role: str, messages: list[Any]) -> str:
        prompt = messages[-1].text
        number = next(number for number in range(9) if f"Text {number}." in prompt)
        said = prompt.rpartition("<continuation>\n")[2].partition("\n</continuation>")[0]
        row = logs[number]
        return "?" if row is None else json.dumps({"tokens": [{"text": said, "logprob": row[said]}]})

    return ScriptedChatModel(replies=reply)


async def weighed(given: Any, model: Any, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    events: list[StepEvent] = []
    given_settings: dict[str, Any] = {"model": model, "parse_retries": 0, **settings}
    context = ReplugContext(**given_settings)
    update = await ensemble(given, node_runtime(context, events))
    return dict(update), next(each["data"] for each in events if each["event"] == "scored")


async def test_the_likeliest_answer_over_all_passages_wins() -> None:
    logs = ({"Lima": math.log(0.5), "Oslo": math.log(0.6)}, {"Lima": math.log(0.9), "Oslo": math.log(0.1)})
    update, event = await weighed(state(["Oslo", "Lima"], [math.log(3.0), 0.0]), scorer(*logs))
    assert event["scores"] == pytest.approx([0.75 * 0.6 + 0.25 * 0.1, 0.75 * 0.5 + 0.25 * 0.9])
    assert (update["answer"], event["chosen"]) == ("Lima", 1)
    assert [each["passage_ids"] for each in update["evidence"]] == [["p1"]]


@pytest.mark.parametrize(("temperature", "weight"), [(4 / math.log(3.0), 0.75), (0.001, 1.0)])
async def test_a_temperature_fits_the_scale_of_scores(temperature: float, weight: float) -> None:
    given = state(["Lima", "Lima", ""], [8.0, 4.0, -9e9])
    _, event = await weighed(given, scorer(), weight_temperature=temperature)
    assert event["scores"] == pytest.approx([1.0, 1.0, 0.0])
    given["drafts"][1]["answer"], given["drafts"][2]["answer"] = "", "Oslo"
    _, event = await weighed(given, scorer(None, None, None), weight_temperature=temperature)
    assert event["scores"] == pytest.approx([weight, 0.0, 0.0])


async def test_one_answer_in_several_spellings_is_not_scored_and_rests_on_all_that_gave_it() -> None:
    update, event = await weighed(state(["The Lima", "", "lima."], [0.0] * 3), scorer())
    assert (update["answer"], update["calls"], event["chosen"]) == ("The Lima", {}, 0)
    assert event["scores"] == pytest.approx([2 / 3, 0.0, 2 / 3])
    assert [each["passage_ids"] for each in update["evidence"]] == [["p0"], ["p2"]]


async def test_probabilities_too_small_for_a_number_are_compared() -> None:
    logs = {"Lima": -2000.0, "Oslo": -2001.0}
    update, event = await weighed(state(["Oslo", "Lima"], [0.0, 0.0]), scorer(logs, logs))
    assert (update["answer"], event["scores"]) == ("Lima", [0.0, 0.0])


async def test_a_passage_without_usable_scores_is_left_out_for_all() -> None:
    logs = (None, {"Lima": -1.0, "Oslo": -2.0})
    update, event = await weighed(state(["Oslo", "Lima"], [5.0, 0.0]), scorer(*logs))
    assert (update["answer"], update["stop_reason"]) == ("Lima", "answered")
    assert event["scores"][1] == pytest.approx(math.exp(-1.0) / (1 + math.exp(5.0)))


@pytest.mark.parametrize("answers", [[], ["", ""]])
async def test_without_an_answer_the_question_is_unanswerable(answers: list[str]) -> None:
    update, event = await weighed(state(answers, [0.0] * len(answers)), scorer())
    assert (update["answer"], update["stop_reason"], event["chosen"]) == ("", "unanswerable", None)


def proposing(*texts: str) -> Any:
    found = [passage(f"p{number}", text) for number, text in enumerate(texts)]
    knowledge = [Knowledge(query="q", excerpts=[whole_excerpt(each, 1.0) for each in found])]
    return {"question": "Where?", "passages": found, "knowledge": knowledge, "stop_reason": None, **spent()}


async def test_a_prompt_shows_one_passage_and_each_has_a_draft() -> None:
    def reply(_role: str, messages: list[Any]) -> str:
        said = "Lima" if "In Peru." in messages[-1].text else "unanswerable"
        return f'{{"answer": "{said}", "used_passages": [1]}}'

    model = ScriptedChatModel(replies=reply)
    update = await propose_answers(proposing("Far off.", "In Peru."), node_runtime(ReplugContext(model=model)))
    assert [each["answer"] for each in update["drafts"]] == ["", "Lima"]
    assert [each["passage_ids"] for each in update["drafts"][1]["evidence"]] == [["p1"]]
    assert [call.messages[-1].text.count("<passage ") for call in model.calls] == [1, 1]
