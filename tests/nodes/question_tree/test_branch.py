"""The path to a question of the tree, its parts, and the evidence under it."""

import pytest

from hopgraph.nodes.question_tree import evidence_under, parts_of, path_to
from hopgraph.nodes.solve_question import with_titles
from support.node_inputs import question_node


def test_paths_parts_and_evidence_of_a_tree() -> None:
    tree = {
        each["id"]: each
        for each in (
            question_node("0", status="answered", how="composed"),
            question_node("0.1", status="answered", how="composed"),
            question_node("0.1.1", status="answered", how="known", passage_ids=["model:0.1.1"]),
            question_node("0.2", status="unknown", how="unsolved"),
            question_node("0.2.1", status="answered", how="passages", passage_ids=["p"]),
            question_node("0.3", status="answered", how="passages", passage_ids=["q"]),
        )
    }
    assert [each["id"] for each in path_to(tree, "0.1.1")] == ["0", "0.1", "0.1.1"]
    assert [each["id"] for each in parts_of(tree, "0")] == ["0.1", "0.2", "0.3"]
    assert evidence_under(tree, "0") == ["0.1.1", "0.3"]
    assert evidence_under(tree, "0.2") == []


@pytest.mark.parametrize(
    ("reasoning", "named"),
    [
        (
            "Passage 1 says she was born in Tallinn (passage 3).",
            "“Ada” says she was born in Tallinn (“Night Harbour”).",
        ),
        ("According to passages 1 and 3, so [1].", "According to “Ada” and “Night Harbour”, so (“Ada”)."),
        ("It is so [1, 3].", "It is so (“Ada” and “Night Harbour”)."),
        ("Passage 2 and passage 9 state it.", "a passage and a passage state it."),
        ("[9] It has 2 rooms, of 1961, and 1 door.", "It has 2 rooms, of 1961, and 1 door."),
    ],
)
def test_a_reasoning_names_passages_by_their_titles(reasoning: str, named: str) -> None:
    assert with_titles(reasoning, ["Ada", "", "Night Harbour"]) == named
