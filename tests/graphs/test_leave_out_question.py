"""Every method leaves out passages that contain the question, where it is told to."""

import pytest

from hopgraph.graphs import ALIASES, METHODS
from support.node_inputs import CountingCorpus

QUESTION = "Who painted the Night Watch?"
WITHOUT_RETRIEVAL = {"cot", "cot_sc", "direct", "genread", "gold_passages", "least_to_most"}


@pytest.mark.parametrize("name", sorted(METHODS.keys() - ALIASES.keys()))
async def test_every_method_leaves_them_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_GOLD_PASSAGES", '[{"title": "Rembrandt", "text": "He painted the Night Watch."}]')
    corpus = CountingCorpus(
        texts=["Quiz: who painted the Night Watch? Rembrandt van Rijn.", *(f"Rembrandt {n}" for n in range(20))]
    )
    settings = {"retriever": corpus, "exclude_question_text": True, "top_k": 2}
    counts: list[int] = []
    seen: set[str] = set()
    stream = METHODS[name].graph.astream({"question": QUESTION}, context=settings, stream_mode="custom", subgraphs=True)
    async for _, event in stream:
        if event["event"] == "retrieved":
            counts.append(event["data"]["left_out"])
            seen.update(event["data"]["passage_ids"])
    assert "0" not in seen
    assert len(corpus.asked_for) >= len(counts)
    assert all(count >= 1 for count in counts)
    assert counts or name in WITHOUT_RETRIEVAL
