"""A hop closed with the revised answer, or with the generated one."""

from typing import Any

import pytest

from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.revise import keep_memory_answer, revise
from hopgraph.state import Context
from support.node_inputs import evidence, node_runtime, passage


def revising(*, rejected: bool = False) -> Any:
    cited = [] if rejected else [evidence(1, "It was by Ada", "a"), evidence(2, "Cats purr", "b")]
    return {
        "question": "Where?",
        "hops": [open_hop(3, "Who?", generated="Bob")],
        "grounding": {"batch": 2, "answer": "Ada", "evidence": cited, "not_found": []},
        "passages": [passage("a", "It was by Ada."), passage("b", "Cats purr.")],
    }


async def test_a_revised_answer_rests_on_every_cited_sentence() -> None:
    update = await revise(revising(), node_runtime(Context()))
    assert [each["statement"] for each in update["evidence"]] == ["It was by Ada", "Cats purr"]
    hop = update["hops"][-1]
    assert (hop["answer"], hop["grounded"], hop["passage_ids"]) == ("Ada", True, ["a", "b"])
    assert (update["grounding"], update["read"]) == (None, 0)


async def test_a_rejected_citation_leaves_the_generated_answer() -> None:
    update = await revise(revising(rejected=True), node_runtime(Context()))
    assert (update["hops"][-1]["answer"], update["hops"][-1]["grounded"]) == ("Bob", False)
    assert (update["grounding"], update["read"]) == (None, 0)


@pytest.mark.parametrize(("revised", "kept"), [(False, "Bob"), (True, "Ada")])
async def test_a_kept_answer_is_not_grounded_even_if_it_was_revised(revised: bool, kept: str) -> None:
    state: Any = revising(rejected=True) if revised else {**revising(), "grounding": None}
    update = await keep_memory_answer(state, node_runtime(Context()))
    assert (update["hops"][-1]["answer"], update["hops"][-1]["grounded"], update["read"]) == (kept, False, 0)
    assert update["grounding"] is None
    assert update["evidence"][0]["passage_ids"] == ["model:3"]
