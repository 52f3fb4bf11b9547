"""The answer that most samples agree on."""

from typing import Any

from hopgraph.nodes.sampling import answer_of_sample, vote
from hopgraph.state import Context
from support.node_inputs import draft, evidence, node_runtime


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
    assert answer_of_sample([], None)["reasoning"] == ""
