"""Questions about the sentences of a rationale."""

from typing import Any

import pytest

from hopgraph.nodes.parts import verifying_questions
from hopgraph.state import Draft
from hopgraph.state.baselines import VerifyAndEditContext
from support.node_inputs import node_runtime, spent
from support.servers.scripted_model import ScriptedChatModel


def draft(answer: str, reasoning: str) -> Draft:
    return Draft(reasoning=reasoning, answer=answer, evidence=[])


DRAFTS = [draft("x", "Of x."), draft("y", "One. Two. Three."), draft("Y.", "Later.")]


@pytest.mark.parametrize(
    ("drafts", "most", "generated"),
    [
        (DRAFTS, 9, ["One.", "Two.", "Three."]),
        (DRAFTS, 2, ["One.", "Two."]),
        (DRAFTS[:2], 9, ["Of x."]),
        ([draft("", "Maybe.")], 9, ["Maybe."]),
        ([draft("x", "")], 9, []),
        ([], 9, []),
    ],
)
async def test_each_sentence_of_the_majoritys_first_sample_is_asked_about(
    drafts: list[Draft], most: int, generated: list[str]
) -> None:
    state: Any = {"question": "q?", "drafts": drafts, "stop_reason": None, **spent()}
    model = ScriptedChatModel(replies=[f'{{"queries": ["Q{number}?"]}}' for number in range(3)])
    update = await verifying_questions(state, node_runtime(VerifyAndEditContext(model=model, max_sentences=most)))
    assert update["claims"] == generated
    assert update["sub_questions"] == ["Q0?", "Q1?", "Q2?"][: len(model.calls)]
    assert len(model.calls) == max(1, len(generated))
