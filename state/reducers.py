"""How parallel updates of one state key become one value.

Every reducer here is idempotent and independent of the order in which branches finish: merging the same
update twice, or two updates the other way round, gives the same value. A new run starts from nothing
because its first node writes `Overwrite` values, which pass the reducers by.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hopgraph.state.records import Call, Evidence, Knowledge, Passage

NodeT = TypeVar("NodeT", bound=Mapping[str, object])


def _rank(passage: Passage) -> tuple[int, float, str]:
    return passage["hop"], -passage["score"], passage["id"]


def merge_passages(old: Sequence[Passage], new: Sequence[Passage]) -> list[Passage]:
    """Merge two lists of passages by id.

    A passage found twice keeps its first hop and the best score of that hop.

    Returns:
        By first retrieval: hop ascending, then score descending, then id. Empty for two empty lists.
    """
    merged: dict[str, Passage] = {}
    for passage in (*old, *new):
        known = merged.get(passage["id"])
        if known is None or _rank(passage) < _rank(known):
            merged[passage["id"]] = passage
    return sorted(merged.values(), key=_rank)


def evidence_order(evidence: Evidence) -> tuple[int, ...]:
    """Sort key of evidence: its id as numbers."""
    return path_order(evidence["id"])


def merge_evidence(old: Sequence[Evidence], new: Sequence[Evidence]) -> list[Evidence]:
    """Merge two lists of evidence by id; of two with one id, the verified one stays.

    Returns:
        In the order of their ids, which is the order of the run. Empty for two empty lists.
    """
    merged: dict[str, Evidence] = {}
    for evidence in (*old, *new):
        known = merged.get(evidence["id"])
        if known is None or _evidence_rank(evidence) > _evidence_rank(known):
            merged[evidence["id"]] = evidence
    return sorted(merged.values(), key=evidence_order)


def _evidence_rank(evidence: Evidence) -> tuple[bool, str, list[str]]:
    return evidence["verified"], evidence["statement"], evidence["passage_ids"]


def merge_calls(old: dict[str, Call], new: dict[str, Call]) -> dict[str, Call]:
    """Merge two maps of calls; a call made again under its id (a node that ran twice) counts once.

    Returns:
        Sorted by id. Of two different records with one id the one with more attempts and tokens stays.
    """
    merged = dict(old)
    for key, call in new.items():
        known = merged.get(key)
        if known is None or _call_rank(call) > _call_rank(known):
            merged[key] = call
    return dict(sorted(merged.items()))


def _call_rank(call: Call) -> tuple[int, int, int, int, int, int, int, str, str, list[float]]:
    return (
        call["attempts"],
        call["prompt_tokens"],
        call["completion_tokens"],
        call["parse_failures"],
        call["passages"],
        call["knowledge_tokens"],
        -call["cached"],
        call["role"],
        call["kind"],
        call.get("paused", []),
    )


def merge_knowledge(old: Sequence[Knowledge], new: Sequence[Knowledge]) -> list[Knowledge]:
    """Merge what was kept for several queries, one entry for each.

    A filter only narrows: of two entries for one query the one with fewer excerpts stays.

    Returns:
        By the query's text. Empty for two empty lists.
    """
    merged: dict[str, Knowledge] = {}
    for entry in (*old, *new):
        known = merged.get(entry["query"])
        if known is None or _narrowness(entry) < _narrowness(known):
            merged[entry["query"]] = entry
    return sorted(merged.values(), key=lambda entry: entry["query"])


def _narrowness(entry: Knowledge) -> tuple[int, str]:
    return len(entry["excerpts"]), json.dumps(entry["excerpts"], sort_keys=True)


def any_true(old: bool, new: bool) -> bool:
    """Whether any branch said so."""
    return old or new


def merge_ids(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Merge two lists of ids.

    Returns:
        Each id once, sorted. Empty for two empty lists.
    """
    return sorted({*old, *new})


def path_order(path: str) -> tuple[int, ...]:
    """Sort key of ids that are paths of numbers, as `0.1.2`."""
    return tuple(int(part) for part in path.split("."))


def merge_tree(statuses: Sequence[str]) -> Callable[[Mapping[str, NodeT], Mapping[str, NodeT]], dict[str, NodeT]]:
    """Make the reducer of a tree whose nodes are kept by id, given the statuses of a node in their order.

    The reducer merges two trees by id. A status only moves forward: of two records with one id the one whose
    `status` comes later stays. It gives the nodes by path: each before its children, and they in their order.
    """
    rank = {status: number for number, status in enumerate(statuses)}

    def progress(node: Mapping[str, object]) -> tuple[int, str]:
        # Different records with one status do not come of one run; their text makes the choice sure.
        return rank[str(node["status"])], json.dumps(node, sort_keys=True)

    def merge(old: Mapping[str, NodeT], new: Mapping[str, NodeT]) -> dict[str, NodeT]:
        merged = dict(old)
        for key, node in new.items():
            known = merged.get(key)
            if known is None or progress(node) > progress(known):
                merged[key] = node
        return dict(sorted(merged.items(), key=lambda entry: path_order(entry[0])))

    return merge
