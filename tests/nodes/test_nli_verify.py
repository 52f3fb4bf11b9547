"""Statements are kept for the passages that entail them."""

from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.nli_verify import nli_verify
from hopgraph.state.migres import MigresContext
from support.node_inputs import evidence, knowledge, passage


async def test_what_was_shown_of_a_passage_counts_once_more_when_a_kept_statement_cites_it() -> None:
    passages = [passage("a", "Cats purr."), passage("b", "Lima is the capital of Peru.")]
    drafts = [evidence(1, "Cats bark loudly.", "a"), evidence(2, "Lima is the capital of Peru.", "b")]
    entry = knowledge("q", "a", "b")
    shown = {each["passage_id"]: each["spans"] for each in entry["excerpts"]}
    state: Any = {"drafts": drafts, "evidence": [], "passages": passages, "knowledge": [entry], "shown": shown}
    update = await nli_verify(state, Runtime(context=MigresContext()))
    assert [each["id"] for each in update["evidence"]] == ["1.1.2"]
    assert update["shown"] == {"a": shown["a"], "b": [*shown["b"], *shown["b"]]}
    forgetful = await nli_verify(state, Runtime(context=MigresContext(memory=False)))
    assert "shown" not in forgetful


async def test_statements_that_differ_in_small_words_alone_are_one() -> None:
    passages = [passage("a", "Lima is the capital of Peru."), passage("b", "Cusco was the capital of Peru.")]
    said = ["Lima is the capital of Peru.", "Lima is capital of the Peru", "The capital of Peru is Lima."]
    drafts = [evidence(number, statement, "a") for number, statement in enumerate(said, start=1)]
    state: Any = {"drafts": drafts, "evidence": [], "passages": passages, "knowledge": [], "shown": {}}
    update = await nli_verify(state, Runtime(context=MigresContext()))
    assert [each["id"] for each in update["evidence"]] == ["1.1.1", "1.1.3"]


async def test_statements_that_differ_in_one_digit_letter_or_negation_are_two() -> None:
    said = ["She won 3 medals.", "She won 5 medals.", "She lacked vitamin K.", "She lacked vitamin C.", "She ran.",
            "She ran not."]  # fmt: skip
    passages = [passage("a", " ".join(said))]
    drafts = [evidence(number, statement, "a") for number, statement in enumerate(said, start=1)]
    state: Any = {"drafts": drafts, "evidence": [], "passages": passages, "knowledge": [], "shown": {}}
    update = await nli_verify(state, Runtime(context=MigresContext(verify=False)))
    assert [each["statement"] for each in update["evidence"]] == said
