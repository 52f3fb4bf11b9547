"""Answers on the way to the last one: samples, votes, drafts; and the decision that ends a run."""

from hopgraph.tools.apps.runs.trees.growing import Data, Growing
from hopgraph.tools.apps.runs.trees.records import ROOT


def blended(tree: Growing, data: Data) -> None:
    """Add the queries of a method that searches with several at once; one text is searched once."""
    for name, text in data.pairs("queries"):
        label = f"{name.replace('_', ' ')} query"
        key = tree.asks(text)
        if key and key != ROOT and key not in tree.searched:
            tree.nodes[key]["label"] += f", {label}"
        else:
            tree.add(tree.fresh("q"), "query", text=text, label=label)


def reasoned(tree: Growing, data: Data) -> None:
    """Add a reasoning with the answer that it comes to."""
    answer = data.text("answer")
    if text := data.text("reasoning") or answer:
        tree.add(tree.fresh("t"), "thought", text=text, label="first reasoning", status="found")["answer"] = answer


def sampled(tree: Growing, data: Data) -> None:
    """Add answers that were sampled."""
    _samples(tree, data.texts("answers"))


def shortened(tree: Growing, data: Data) -> None:
    """Add sampled answers that were cut down to short ones."""
    answers = data.texts("sampled")
    if len(answers) > 1:
        _samples(tree, answers)


def _samples(tree: Growing, answers: list[str]) -> None:
    for number, answer in enumerate(answers, start=1):
        label = f"sample {number} of {len(answers)}"
        node = tree.add(
            f"s{number}", "answer", text=answer or "no answer", label=label, status="found" if answer else "unknown"
        )
        node["answer"] = answer


def chosen(tree: Growing, data: Data) -> None:
    """Accept the sample that was chosen."""
    recalls = data.numbers("citation_recall")
    for index, _ in enumerate(data.texts("answers")):
        node = tree.nodes.get(f"s{index + 1}")
        if node is None:
            continue
        if index < len(recalls):
            node["note"] = f"citation recall {recalls[index]:.2f}"
        if index == data.number("chosen"):
            node["status"] = "accepted"


def decided(tree: Growing, data: Data) -> None:
    """Keep an answer, and what it rests on; the last one is the run's."""
    tree.interim, tree.used = data.text("answer"), set(data.texts("used"))
