"""The path to a question of the tree, its parts, and the evidence under it."""

from hopgraph.nodes.question_tree.branch import parts_of, path_to
from hopgraph.nodes.question_tree.settlement import evidence_under
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
