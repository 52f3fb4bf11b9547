"""Reducers: merge parallel updates of one state key into one value.

Every reducer here is idempotent and independent of the order in which branches finish. A new run starts empty
because its first node writes `Overwrite` values, which bypass the reducers.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from hopgraph.state.records import Call, Evidence, Passage

NodeT = TypeVar("NodeT", bound=Mapping[str, object])
RecordT = TypeVar("RecordT")


def _by_key(records: Iterable[tuple[str, RecordT]], rank: Callable[[RecordT], Any]) -> dict[str, RecordT]:
    """Keep one record per key: the one that ranks first; in a tie, the first one."""
    merged: dict[str, RecordT] = {}
    for key, record in records:
        if key not in merged or rank(record) < rank(merged[key]):
            merged[key] = record
    return merged


def _text(record: object) -> str:
    """Return a tie-breaker for different records of equal rank; such records cannot come from one run."""
    return json.dumps(record, sort_keys=True)


def merge_passages(old: Sequence[Passage], new: Sequence[Passage]) -> list[Passage]:
    """Merge two lists of passages by id: by hop, then score, best first, then id.

    A passage found twice keeps its first hop and its best score in that hop.
    """
    ranked = sorted((*old, *new), key=itemgetter("id"))  # three stable sorts, last key first, avoid a tuple per record
    ranked.sort(key=itemgetter("score"), reverse=True)
    ranked.sort(key=itemgetter("hop"))
    first: dict[str, Passage] = {}
    for passage in ranked:
        first.setdefault(passage["id"], passage)
    return list(first.values())


def merge_evidence(old: Sequence[Evidence], new: Sequence[Evidence]) -> list[Evidence]:
    """Merge two lists of evidence by id, in the order of the run; of two with the same id, the verified one is kept."""
    records = ((each["id"], each) for each in (*old, *new))
    merged = _by_key(records, lambda each: (not each["verified"], _text(each)))
    return sorted(merged.values(), key=lambda each: path_order(each["id"]))


def merge_calls(old: dict[str, Call], new: dict[str, Call]) -> dict[str, Call]:
    """Merge two maps of calls, sorted by id; a call repeated under its id (a node that ran twice) counts once.

    Of two different records with the same id, the one with more attempts and tokens is kept.
    """

    def rank(call: Call) -> tuple[int, int, int, int, str]:
        tokens = call["prompt_tokens"], call["completion_tokens"]
        return -call["attempts"], -tokens[0], -tokens[1], call["cached"], _text(call)

    return dict(sorted(_by_key((*old.items(), *new.items()), rank).items()))


def any_true(old: bool, new: bool) -> bool:
    """Return whether any branch is true."""
    return old or new


def merge_ids(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Merge two lists of ids, deduplicated and sorted."""
    return sorted({*old, *new})


def path_order(path: str) -> tuple[int, ...]:
    """Return the sort key of ids that are paths of numbers, e.g. `0.1.2`."""
    return tuple(int(part) for part in path.split("."))


def merge_tree(statuses: Sequence[str]) -> Callable[[Mapping[str, NodeT], Mapping[str, NodeT]], dict[str, NodeT]]:
    """Return the reducer of a tree whose nodes are keyed by id, given the node statuses in order.

    A status only advances: of two records with the same id, the one with the later `status` is kept. Nodes are ordered
    by path: each before its children.
    """
    later_first = {status: -number for number, status in enumerate(statuses)}

    def merge(old: Mapping[str, NodeT], new: Mapping[str, NodeT]) -> dict[str, NodeT]:
        merged = _by_key((*old.items(), *new.items()), lambda node: (later_first[str(node["status"])], _text(node)))
        return dict(sorted(merged.items(), key=lambda entry: path_order(entry[0])))

    return merge
