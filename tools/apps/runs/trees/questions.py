"""Questions that are broken down (RA-ISF, least-to-most), and hops that follow on one another (GenGround, ReAct)."""

from hopgraph.tools.apps.runs.trees.growing import Data, Growing
from hopgraph.tools.apps.runs.trees.records import ROOT, RunNode

_HOW = {
    "known": "from the model's own knowledge",
    "passages": "from relevant passages",
    "composed": "from the answers to its parts",
    "best_effort": "the best that was there when the budget was used up",
    "unsolved": "nothing answers it",
    "depth": "too deep",
    "budget": "the budget is used up",
}
"""How a question was settled, in words."""


def planted(tree: Growing, data: Data) -> None:
    """Begin with the question."""
    if not tree.question:
        tree.question = tree.nodes[ROOT]["text"] = data.text("question")


def decomposed(tree: Growing, data: Data) -> None:
    """Hang a question's parts below it."""
    parent = data.text("id")
    parts = data.records("sub_questions")
    if parts and parent in tree.nodes:
        tree.nodes[parent]["status"] = "expanded"
    for part in parts:
        tree.add(part.text("id"), "question", parent=parent, text=part.text("question"))


def judged(tree: Growing, data: Data) -> None:
    """Note whether the model knows a question's answer, or which passages are relevant to it."""
    node = _question(tree, data)
    if data.text("of") == "self_knowledge":
        node["note"] = "known to the model" if data.flag("known") else ""
        return
    for key in data.texts("passage_ids"):
        tree.paragraph(node["id"], key)
    tree.judge(node["id"], data.texts("relevant"))


def settled(tree: Growing, data: Data) -> None:
    """Settle a question."""
    node = _question(tree, data)
    node["status"] = "answered" if data.text("status") == "answered" else "unknown"
    node["answer"], node["passage_ids"] = data.text("answer"), data.texts("passage_ids")
    node["note"] = _HOW.get(data.text("how"), "")


def _question(tree: Growing, data: Data) -> RunNode:
    return tree.add(data.text("id"), "question", parent=data.text("parent"), text=data.text("question"))


def deduced(tree: Growing, data: Data) -> None:
    """Add the question of the next hop; one that is not followed is set aside."""
    repeated, limit = data.flag("repeated"), data.flag("limit")
    thought, generated = data.text("thought"), data.text("generated")
    said = f"from memory: {generated}" if generated else thought
    node = tree.add(
        tree.fresh("hop"),
        "question",
        text=data.text("question"),
        label=f"hop {data.number('hop') or ''}".strip(),
        status="pruned" if repeated or limit else "open",
        note="no more hops are allowed" if limit else "asked before" if repeated else said,
    )
    if node["status"] == "pruned":
        tree.searched.add(node["id"])  # nothing is searched for it


def grounded(tree: Growing, data: Data) -> None:
    """Accept the passage that carries a hop's answer, and reject the others of its batch."""
    place = tree.asks(data.text("question"))
    if not place:
        return
    cited = data.text("passage_id")
    for key in data.texts("passage_ids"):
        node = tree.paragraph(place, key)
        node["status"] = "accepted" if key == cited else "rejected"
        if key == cited:
            node["note"] = data.text("cited")


def revised(tree: Growing, data: Data) -> None:
    """Answer a hop."""
    place = tree.asks(data.text("question"))
    if not place:
        return
    node, answer, generated = tree.nodes[place], data.text("answer"), data.text("generated")
    node["answer"], node["status"] = answer, "answered" if answer else "unknown"
    node["passage_ids"] = data.texts("passage_ids")
    for key in node["passage_ids"]:
        tree.paragraph(place, key)["status"] = "accepted"
    if generated and data.flag("grounded"):
        change = "corrected by passages" if data.flag("changed") else "confirmed by passages"
        node["note"] = f"from memory: {generated}; {change}"
    elif generated:
        node["note"] = "from memory; no passage carries it"


def thought(tree: Growing, data: Data) -> None:
    """Add a sentence of a chain of thought."""
    text = data.text("text")
    if not text:
        return
    new = data.flag("new")
    node = tree.add(
        tree.fresh("t"),
        "thought",
        text=text,
        label="thought",
        status="open" if new else "pruned",
        note="" if new else "said before",
    )
    if data.flag("reached") or data.flag("limit") or not new:  # the chain ends here
        tree.searched.add(node["id"])
        node["status"] = node["status"] if node["status"] == "pruned" else "found"
