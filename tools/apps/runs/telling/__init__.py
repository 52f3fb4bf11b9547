"""What each kind of step event says, as lines for people.

`TELLERS` maps an event's kind to the function that makes its lines; a new kind of event gets an entry there.
"""

from collections.abc import Callable

from hopgraph.tools.apps.runs.telling import answers, calls, chat, questions, reviews, searches
from hopgraph.tools.apps.runs.telling.told import TEXT_SHOWN, Line, Style, Told

TELLERS: dict[str, Callable[[Told], list[Line]]] = {
    "query": searches.query,
    "retrieved": searches.retrieved,
    "given": searches.given,
    "filtered": searches.filtered,
    "reranked": searches.reranked,
    "compressed": searches.compressed,
    "recalled": searches.recalled,
    "weighed": searches.weighed,
    "blended": searches.blended,
    "topic": searches.topic,
    "united": searches.united,
    "extracted": answers.extracted,
    "verified": answers.verified,
    "decided": answers.decided,
    "generated": answers.generated,
    "reasoned": answers.reasoned,
    "sampled": answers.sampled,
    "shortened": answers.shortened_to,
    "voted": answers.voted,
    "compared": answers.compared,
    "answered": answers.nothing,
    "planted": answers.nothing,
    "decomposed": questions.decomposed,
    "judged": questions.judged,
    "solved": questions.solved,
    "composed": questions.composed,
    "deduced": questions.deduced,
    "grounded": questions.grounded,
    "revised": questions.revised,
    "thought": questions.thought,
    "grown": reviews.grown,
    "pruned": reviews.pruned,
    "reviewed": reviews.reviewed,
    "expanded": reviews.expanded,
    "fused": reviews.fused,
    "asked": calls.asked,
    "retrying": calls.retrying,
    "cache_failed": calls.cache_failed,
    "contextualised": chat.contextualised,
    "routed": chat.routed,
    "replied": answers.nothing,
    "approved": chat.approved,
}
"""The answer, the reply and the question that a run begins with are shown already, or at the end."""

AT_ONCE = frozenset({"retrying"})
"""What is told as it happens, not with its superstep in order: it says why nothing else happens."""

__all__ = ["AT_ONCE", "TELLERS", "TEXT_SHOWN", "Line", "Style", "Told"]
