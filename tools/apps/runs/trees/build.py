"""From step events to a tree."""

from collections.abc import Callable, Iterable, Mapping

from hopgraph.state import StepEvent
from hopgraph.state.events import event_order
from hopgraph.tools.apps.runs.trees import answers, questions, reviews, searches
from hopgraph.tools.apps.runs.trees.growing import Data, Growing
from hopgraph.tools.apps.runs.trees.records import ROOT, Quote, RunNode, RunTree, path_ids

TREE_EVENTS: Mapping[str, Callable[[Growing, Data], None]] = {
    "query": searches.query,
    "retrieved": searches.retrieved,
    "given": searches.given,
    "filtered": searches.filtered,
    "reranked": searches.reranked,
    "compressed": searches.compressed,
    "weighed": searches.weighed,
    "recalled": searches.recalled,
    "extracted": searches.extracted,
    "verified": searches.verified,
    "planted": questions.planted,
    "decomposed": questions.decomposed,
    "judged": questions.judged,
    "solved": questions.settled,
    "composed": questions.settled,
    "deduced": questions.deduced,
    "grounded": questions.grounded,
    "revised": questions.revised,
    "thought": questions.thought,
    "grown": reviews.grown,
    "pruned": reviews.pruned,
    "reviewed": reviews.reviewed,
    "expanded": reviews.expanded,
    "blended": answers.blended,
    "reasoned": answers.reasoned,
    "sampled": answers.sampled,
    "shortened": answers.shortened,
    "voted": answers.chosen,
    "compared": answers.chosen,
    "decided": answers.decided,
}
"""What each kind of event does to the tree; the other kinds do nothing."""


def tree_of(question: str, events: Iterable[StepEvent]) -> RunTree:
    """Make the tree of a run from its events so far, of any method.

    Args:
        question: The question that was asked; where it is empty, the events' own is taken if they tell one.
        events: In any order; they are put into the run's own, so that parallel branches look the same each time.

    An event that lacks what its kind should have adds what it can, so that no file's content breaks a drawing.
    Without events: the question alone, open.
    """
    tree, end = Growing(question), None
    for event in sorted(events, key=event_order):
        data = Data(event["data"])
        if event["event"] == "answered":
            end = data
        elif change := TREE_EVENTS.get(event["event"]):
            change(tree, data)
    nodes = list(tree.nodes.values())
    if end is None:
        return RunTree(nodes=nodes, answer="", stop_reason="", quotes=[])
    root, quotes = tree.nodes[ROOT], [_quote(tree, each) for each in end.records("citations")]
    root["answer"] = end.text("answer")
    root["status"] = "answered" if root["answer"] else "unknown"
    if root["answer"]:
        _mark_evidence(nodes, tree.used, quotes)
    return RunTree(nodes=nodes, answer=root["answer"], stop_reason=end.text("stop_reason"), quotes=quotes)


def _quote(tree: Growing, data: Data) -> Quote:
    key = data.text("passage_id")
    return Quote(passage_id=key, title=data.text("title") or tree.title(key), quote=data.text("quote"))


def _mark_evidence(nodes: list[RunNode], used: set[str], quotes: list[Quote]) -> None:
    """Mark what the answer rests on, and the way to it.

    The decision may name paths that were reviewed, or statements, which rest on paragraphs of their query. Else
    it is what was kept, or was answered, by a cited passage; a passage that nothing judged counts where it was
    found first.
    """
    resting = {node["id"] for node in nodes if node["id"] in used and node["kind"] in ("paragraph", "statement")}
    statements = [node for node in nodes if node["id"] in resting and node["kind"] == "statement"]
    below = {(node["parent"], key) for node in statements for key in node["passage_ids"]}
    resting |= {f"{parent}/{key}" for parent, key in below}
    if not resting:
        resting = _citing(nodes, quotes)
    marked = path_ids(nodes, resting)
    for node in nodes:
        node["evidence"] = bool(node["parent"]) and node["id"] in marked


def _citing(nodes: list[RunNode], quotes: list[Quote]) -> set[str]:
    cited = {quote["passage_id"] for quote in quotes}
    found: set[str] = set()
    carried: set[str] = set()
    for node in nodes:
        if node["id"] != ROOT and node["status"] in ("accepted", "answered") and cited & {*node["passage_ids"]}:
            found.add(node["id"])
            carried |= {*node["passage_ids"]}
    for node in nodes:
        if node["status"] == "found" and (new := cited & {*node["passage_ids"]} - carried):
            found.add(node["id"])
            carried |= new
        elif node["kind"] == "knowledge" and any(quote["quote"] and quote["quote"] in node["text"] for quote in quotes):
            found.add(node["id"])
    return found
