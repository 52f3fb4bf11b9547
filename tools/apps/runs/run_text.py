"""A run's tree as plain text."""

from hopgraph.tools.apps.runs.trees import EVIDENCE, RunTree, ShownNode, view_of
from hopgraph.tools.text.sanitize import sanitize_line, to_ascii


def text_of_run(tree: RunTree, title: str) -> str:
    """Write a run's tree with its end, a line or more for each node.

    All signs are ASCII; texts stay as they are, on one line each and with nothing that a terminal would obey.
    """
    lines = [title, "=" * len(title), "", *_nodes(view_of(tree))]
    lines += ["", f"Answer: {sanitize_line(tree['answer'])}" if tree["answer"] else "No answer"]
    for number, quote in enumerate(tree["quotes"], start=1):
        name = sanitize_line(quote["title"] or quote["passage_id"])
        lines.append(f'[{number}] {name}: "{sanitize_line(quote["quote"])}"')
    return "\n".join(lines)


def _nodes(root: ShownNode) -> list[str]:
    """Write a node and all below it, each behind the branch that it hangs from."""
    lines = list[str]()
    waiting = [(root, "", "")]
    while waiting:
        shown, first, rest = waiting.pop()
        lines += _node(shown, first, f"{rest}|   " if shown.below else f"{rest}    ")
        for below in reversed(shown.below):
            last = below is shown.below[-1]
            waiting.append((below, f"{rest}+-- ", f"{rest}    " if last else f"{rest}|   "))
    return lines


def _node(shown: ShownNode, first: str, rest: str) -> list[str]:
    parts = [f"{EVIDENCE} {shown.sign}" if shown.evidence else shown.sign, shown.word, sanitize_line(shown.label)]
    head = to_ascii(" ".join(part for part in parts if part))
    answer = f" -> {sanitize_line(shown.answer)}" if shown.answer else ""
    return [
        f"{first}{head}: {sanitize_line(shown.text)}{answer}",
        *(f"{rest}{sanitize_line(note)}" for note in shown.notes),
    ]
