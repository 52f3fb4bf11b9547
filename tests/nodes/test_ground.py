"""Groundings, as models write them, and the passage that a citation comes from."""

from typing import Any

import pytest

from hopgraph.nodes.ground import GroundReply, citing_passage, keep, revise
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.state import Context
from support.node_inputs import evidence, node_runtime, passage

FILM = ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink. It is set in a port.")
PERSON = ("Ada Brink", "Ada Brink was a director. She was born in Tallinn. She liked ships.")


def test_a_citation_is_carried_by_the_passage_that_has_most_of_its_words() -> None:
    passages = [passage("film", title=FILM[0], text=FILM[1]), passage("person", title=PERSON[0], text=PERSON[1])]
    assert citing_passage("Ada Brink was born in Tallinn", passages) == ("person", 1.0)
    assert citing_passage("It was directed by Brink in Oslo", passages) == ("film", 2 / 3)
    assert citing_passage("the of and", passages) == ("film", 0.0)
    assert citing_passage("Ada", []) == ("", 0.0)


@pytest.mark.parametrize(
    ("said", "ref", "empty"),
    [
        ({"ref": "<ref> Empty </ref>"}, "Empty", True),
        ({"ref": None, "revise": None}, "Empty", True),
        ({"ref": '"None."', "revise": "x"}, '"None."', True),
        ({"ref": "<ref>a fact</ref>", "revise": "<revise>x</revise>"}, "a fact", False),
        ({"ref": "1 < 2 and <b>", "revise": 1961}, "1 < 2 and <b>", False),
    ],
)
def test_how_a_grounding_may_be_written(said: dict[str, Any], ref: str, empty: bool) -> None:
    reply = GroundReply.model_validate(said)
    assert (reply.ref, reply.is_empty) == (ref, empty)
    assert "<revise>" not in reply.revise


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
    update = await keep(state, node_runtime(Context()))
    assert (update["hops"][-1]["answer"], update["hops"][-1]["grounded"], update["read"]) == (kept, False, 0)
    assert update["grounding"] is None
    assert update["evidence"][0]["passage_ids"] == ["model:3"]
