"""How parallel updates of one state key become one value.

Every reducer here is idempotent and independent of the order in which branches finish: merging the same
update twice, or two updates the other way round, gives the same value. A new run starts from nothing
because its first node writes `Overwrite` values, which pass the reducers by.
"""

from collections.abc import Sequence

from hopgraph.state.records import Call, Evidence, Passage


def _rank(passage: Passage) -> tuple[int, float, str]:
    return passage["hop"], -passage["score"], passage["id"]


def merge_passages(old: Sequence[Passage], new: Sequence[Passage]) -> list[Passage]:
    """Unite two lists of passages by id, each text once.

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
    """Sort key of evidence: its id `hop.query.number` as numbers."""
    return tuple(int(part) for part in evidence["id"].split("."))


def merge_evidence(old: Sequence[Evidence], new: Sequence[Evidence]) -> list[Evidence]:
    """Unite two lists of evidence by id; of two with one id, the verified one stays.

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
    """Unite two maps of calls; a call made again under its id (a node that ran twice) counts once.

    Returns:
        Sorted by id. Of two different records with one id the one with more attempts and tokens stays.
    """
    merged = dict(old)
    for key, call in new.items():
        known = merged.get(key)
        if known is None or _call_rank(call) > _call_rank(known):
            merged[key] = call
    return dict(sorted(merged.items()))


def _call_rank(call: Call) -> tuple[int, int, int, int, int, int, str, str]:
    return (
        call["attempts"],
        call["prompt_tokens"],
        call["completion_tokens"],
        call["parse_failures"],
        call["passages"],
        call["knowledge_tokens"],
        call["role"],
        call["kind"],
    )


def merge_ids(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Unite two lists of ids.

    Returns:
        Each id once, sorted. Empty for two empty lists.
    """
    return sorted({*old, *new})
