"""Citation recall, and the sample that has the best."""

from collections.abc import Sequence
from typing import Any

from hopgraph.nodes.best_cited import best_cited, citation_recalls
from hopgraph.state import Context
from support.node_inputs import draft, evidence, node_runtime, passage

PASSAGES = [passage("a", "Lima is in Peru."), passage("b", "Cats purr.")]


class Contains:
    """Entails what the premise contains."""

    name, threshold = "contains", 0.5

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(statement in premise) for premise, statement in pairs]


def test_recall_is_the_share_of_statements_that_the_cited_passages_entail() -> None:
    by_id = {each["id"]: each for each in PASSAGES}
    drafts = [
        draft("Peru", "Lima is in Peru. Cats bark.", evidence(1, "s", "a", "b")),
        draft("Peru", "Lima is in Peru.", evidence(1, "s", "a")),
        draft("Peru", "Lima is in Peru."),
        draft("Cats purr.", "", evidence(1, "s", "b")),
    ]
    assert citation_recalls(Contains(), drafts, by_id, "What do cats do?") == [0.5, 1.0, 0.0, 0.0]
    assert citation_recalls(Contains(), [], by_id, "q") == []


async def test_a_sample_without_an_answer_is_never_chosen() -> None:
    drafts = [
        draft("", "Lima is in Peru.", evidence(1, "s", "a")),
        draft("Oslo", "Oslo is in Norway.", evidence(1, "s", "b")),
        draft("Peru", "Lima is in Peru.", evidence(1, "s", "a")),
    ]
    state: Any = {"question": "Where?", "drafts": drafts, "passages": PASSAGES, "stop_reason": None}
    assert (await best_cited(state, node_runtime(Context())))["answer"] == "Peru"
    state["drafts"] = drafts[:1]
    unanswered = await best_cited(state, node_runtime(Context()))
    assert (unanswered["answer"], unanswered["stop_reason"]) == ("", "unanswerable")
