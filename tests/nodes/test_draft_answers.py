"""How a draft's answers are sampled; short answers from chains of thought, and the majority of them."""

import json
from typing import Any

import pytest

from hopgraph.nodes.draft_answers import majority_answer, sampling_at, shorten
from hopgraph.state.blendfilter import BlendFilterContext
from support.node_inputs import draft, node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


@pytest.mark.parametrize(
    ("top_p", "temperature", "expected"),
    [
        (0, 0.7, {"temperature": 0.0}),
        (0.5, 0.0, {"temperature": 1.0, "top_p": 0.5}),
        (0.5, None, {"temperature": 1.0, "top_p": 0.5}),
        (1, 0.7, {"temperature": 0.7, "top_p": 1}),
    ],
)
def test_sampling_at_a_share_of_the_probability(
    top_p: float, temperature: float | None, expected: dict[str, float]
) -> None:
    assert sampling_at(top_p, temperature) == expected


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["Lima", "Oslo", "the oslo!"], 1),
        (["Lima", "Oslo"], 0),
        (["", "", "Oslo"], 2),
        (["", ""], None),
        ([], None),
        (["The", "a", "The"], 0),
    ],
)
def test_the_majority_leaves_case_articles_and_empty_answers_aside(answers: list[str], chosen: int | None) -> None:
    assert majority_answer(answers) == chosen


def shortening(*drafts: Any, cut_off: bool = False) -> Any:
    return {"question": "Where?", "drafts": list(drafts), "cut_off": cut_off, **spent()}


@pytest.mark.parametrize(("abstain", "answer"), [(True, ""), (False, "Oslo")])
async def test_a_chain_that_abstained_is_asked_only_where_every_question_is_answered(
    abstain: bool, answer: str
) -> None:
    replies = [] if abstain else ['{"answer": "Oslo"}']
    settings = BlendFilterContext(model=ScriptedChatModel(replies=replies), abstain=abstain)
    update = await shorten(shortening(draft("", "It was Oslo or Lima.")), node_runtime(settings))
    assert (update["answer"], len(update["calls"])) == (answer, len(replies))


@pytest.mark.parametrize(
    ("yes_no", "own", "said", "answer"),
    [
        (True, "Probably yes, since it floats", "yes", "yes"),
        (True, "Yes, since it floats", "cannot be determined", "yes"),
        (True, "It floats", "unanswerable", ""),
        (False, "in Oslo", "Not enough information", "in Oslo"),
    ],
)
async def test_a_short_answer_is_no_abstention_and_yes_or_no_where_asked_for(
    yes_no: bool, own: str, said: str, answer: str
) -> None:
    model = ScriptedChatModel(replies=[json.dumps({"answer": said})])
    settings = BlendFilterContext(model=model, answer_type="yes_no" if yes_no else "short")
    update = await shorten(shortening(draft(own, "r")), node_runtime(settings))
    assert update["answer"] == answer
