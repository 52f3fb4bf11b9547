"""Groundings, as models write them, and the passage that a citation comes from."""

from typing import Any

import pytest

from hopgraph.nodes.ground import GroundReply, citing_passage
from support.node_inputs import passage

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
