"""A tree with only as many nodes as somebody can look at."""

from dataclasses import replace

from hopgraph.tools.apps.runs.trees.view import ShownNode


def folded(root: ShownNode, most: int) -> ShownNode:
    """Leave out nodes of a tree that is too large.

    Those on the way to the answer stay first, then those near the root, the earlier ones before the later ones.
    Below a node that lost some of its own a last one says how many, with all that was below them.

    Args:
        root: the tree; it is not changed.
        most: how many nodes stay, the root included, at least 1.

    Returns:
        The same tree where it has no more than that.
    """
    order = [(root, 0)]
    for node, depth in order:  # grows meanwhile
        order += [(below, depth + 1) for below in node.below]
    if len(order) <= most:
        return root
    # Whatever carries evidence has its parents among the evidence, so that no node stays without its parent.
    first = sorted(order[1:], key=lambda each: (not each[0].evidence, each[1]))
    kept = {id(root), *(id(node) for node, _ in first[: most - 1])}
    sizes: dict[int, int] = {}
    made: dict[int, ShownNode] = {}
    for node, _ in reversed(order):  # the nodes below a node come after it
        sizes[id(node)] = 1 + sum(sizes[id(below)] for below in node.below)
        left_out = sum(sizes[id(below)] for below in node.below if id(below) not in kept)
        stay = [made[id(below)] for below in node.below if id(below) in kept]
        if id(node) in kept:
            made[id(node)] = replace(node, below=stay + ([_rest(node, left_out)] if left_out else []))
    return made[id(root)]


def _rest(node: ShownNode, count: int) -> ShownNode:
    return ShownNode(
        id=f"{node.id}/rest",
        kind="statement",
        status="found",
        word="left out",
        label="",
        text=f"{count:,} more",
        answer="",
        notes=(),
        evidence=False,
    )
