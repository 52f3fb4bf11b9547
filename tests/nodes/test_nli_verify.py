"""Statements are kept for the passages that entail them."""

from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.nli_verify import nli_verify
from hopgraph.state.migres import MigresContext
from support.node_inputs import evidence, passage


async def test_a_statement_is_kept_for_the_passage_that_entails_it() -> None:
    passages = [passage("a", "Cats purr."), passage("b", "Lima is the capital of Peru.")]
    drafts = [evidence(1, "Lima is the capital of Peru.", "a"), evidence(2, "Lima is the capital of Peru.", "b")]
    state: Any = {"drafts": [*drafts, *drafts], "evidence": [], "passages": passages}
    update = await nli_verify(state, Runtime(context=MigresContext()))
    assert [(each["id"], each["passage_ids"]) for each in update["evidence"]] == [("1.1.2", ["b"])]
    again = await nli_verify(state | {"evidence": update["evidence"]}, Runtime(context=MigresContext()))
    assert again["evidence"] == []
