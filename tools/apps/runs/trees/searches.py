"""What searches found and what became of it: queries, their paragraphs, and the statements taken from these."""

from hopgraph.tools.apps.runs.trees.growing import Data, Growing
from hopgraph.tools.apps.runs.trees.records import ROOT


def query(tree: Growing, data: Data) -> None:
    """Search the text of a node that asks it, or of a new one."""
    text = data.text("query")
    if _belongs_to_review(tree, text):
        return
    key = tree.asks(text)
    if tree.interim:  # an answer was given, and the run goes on
        answer = tree.add(tree.fresh("a"), "answer", text=tree.interim, label="answer so far", status="expanded")
        answer["answer"], tree.interim = tree.interim, ""
    if not key or key in tree.searched:
        why, hop = data.text("why"), data.number("hop")
        note = f"looks for: {why}" if why and why != tree.question else ""
        label = f"hop {hop}" if hop else ""
        key = tree.add(tree.fresh("q"), "query", text=text, label=label, note=note)["id"]
    tree.searched.add(key)
    if tree.nodes[key]["status"] == "open":
        tree.nodes[key]["status"] = "expanded"


def _belongs_to_review(tree: Growing, text: str) -> bool:
    """Tell whether a path of paragraphs was searched further with this text; its finds are told as `grown`."""
    return any(node["kind"] == "paragraph" and node["query"] == text for node in tree.nodes.values())


def retrieved(tree: Growing, data: Data) -> None:
    """Hang what a query found below it."""
    keys = data.texts("passage_ids")
    tree.learn(keys, data.texts("titles"))
    text = data.text("query")
    if _belongs_to_review(tree, text):
        return
    for key in keys:
        tree.paragraph(_place(tree, data), key)


def _place(tree: Growing, data: Data) -> str:
    return tree.asks(data.text("query")) or ROOT


def given(tree: Growing, data: Data) -> None:
    """Hang the passages that the caller gave below the question."""
    keys = data.texts("passage_ids")
    tree.learn(keys, data.texts("titles"))
    for key in keys:
        tree.paragraph(ROOT, key)["note"] = "given"


def filtered(tree: Growing, data: Data) -> None:
    """Accept what a filter kept, reject the rest."""
    kept = data.records("kept")
    tree.learn([each.text("passage_id") for each in kept], [each.text("title") for each in kept])
    tree.judge(_place(tree, data), [each.text("passage_id") for each in kept])


def reranked(tree: Growing, data: Data) -> None:
    """Accept what a reranker kept, reject the rest."""
    tree.judge(_place(tree, data), data.texts("passage_ids"))


def compressed(tree: Growing, data: Data) -> None:
    """Accept what was summed up, with the summary.

    Paragraphs may be read in several turns, so that one that was kept before stays.
    """
    kept = {each.text("passage_id"): each.text("text") for each in data.records("kept")}
    place = _place(tree, data)
    before = {
        node["passage_ids"][0]: node["note"]
        for node in tree.under(place)
        if node["kind"] == "paragraph" and node["status"] == "accepted" and node["note"]
    }
    tree.judge(place, [*before, *(key for key in kept if key not in before)], {**before, **kept})


def weighed(tree: Growing, data: Data) -> None:
    """Note what a model said about what a query found."""
    tree.nodes[_place(tree, data)]["note"] = data.text("judgement")


def recalled(tree: Growing, data: Data) -> None:
    """Add what the model wrote from its own knowledge."""
    if data.flag("known"):
        place = tree.asks(data.text("query")) or ROOT
        tree.add(
            tree.fresh("k"),
            "knowledge",
            parent=place,
            text=data.text("text"),
            label="model's own knowledge",
            status="found",
        )


def extracted(tree: Growing, data: Data) -> None:
    """Add the statements that were taken from what a query found."""
    for each in data.records("statements"):
        sources = each.texts("passage_ids")
        named = [title for key in sources if not each.text("statement").startswith(title := tree.title(key))]
        note = f"from {', '.join(named)}" if named else ""
        tree.add(
            each.text("id"),
            "statement",
            parent=_place(tree, data),
            text=each.text("statement"),
            note=note,
            passage_ids=sources,
        )


def verified(tree: Growing, data: Data) -> None:
    """Accept or reject statements."""
    for each in data.records("statements"):
        node = tree.nodes.get(each.text("id"))
        if node and node["kind"] == "statement":
            node["status"] = "accepted" if each.flag("kept") else "rejected"
