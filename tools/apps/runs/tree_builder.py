"""Build the tree of a run, of any method, from its step events: `build_tree`.

`grow` dispatches on the event's class; a new kind of event gets a function here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Final, cast, get_args

from hopgraph.state import Citation, StepEvent, events
from hopgraph.state.events import AnyEvent, Event, TreeNode, UnknownEvent, event_order, parse_event
from hopgraph.tools.apps.runs.run_tree import ROOT, RunNode, RunTree, Status, path_ids

_SEARCHABLE = frozenset({"question", "query", "thought"})
"""The kinds of nodes whose text is searched."""
_SETTLED: Final = {
    "known": "from the model's own knowledge",
    "passages": "from relevant passages",
    "composed": "from the answers to its parts",
    "best_effort": "the best that was there when the budget was used up",
    "unsolved": "nothing answers it",
    "depth": "too deep",
    "budget": "the budget is used up",
}
"""How a question was settled, in words."""
_VERDICTS: Final[dict[str, Status]] = {"accept": "accepted", "search": "open", "reject": "rejected"}
"""A path that needs more stays open until it is searched."""


@dataclass
class TreeBuilder:
    """A tree in the making. No node ever changes its parent, so that it stays a tree."""

    question: str
    nodes: dict[str, RunNode] = field(default_factory=dict[str, RunNode])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """Of the passages seen, by id."""
    searched: set[str] = field(default_factory=set[str])
    """The ids of nodes whose text was searched."""
    used: set[str] = field(default_factory=set[str])
    """The ids of the evidence that the last decision rests on."""
    interim: str = ""
    """An answer that was given, and may be the last."""
    end: events.Answered | None = None

    def __post_init__(self) -> None:
        self.nodes[ROOT] = RunNode(ROOT, "question", parent="", text=self.question)

    def add(self, node: RunNode) -> RunNode:
        """Add a node below its parent, else below the root; return the node that has its id already, if one has."""
        node.id = node.id or self.fresh_id("n")
        if node.id not in self.nodes:
            node.parent = node.parent if node.parent in self.nodes else ROOT
            self.nodes[node.id] = node
            self.nodes[node.parent].children.append(node)
        return self.nodes[node.id]

    def fresh_id(self, prefix: str) -> str:
        """Return an id that no node has."""
        number = 1
        while f"{prefix}{number}" in self.nodes:
            number += 1
        return f"{prefix}{number}"

    def add_titles(self, passage_ids: Iterable[str], titles: Iterable[str]) -> None:
        """Remember the titles of passages."""
        self.titles.update((key, title) for key, title in zip(passage_ids, titles, strict=False) if title)

    def title(self, passage_id: str) -> str:
        """Return a passage's title; its id where it has none."""
        return self.titles.get(passage_id) or passage_id

    def asker(self, text: str) -> RunNode | None:
        """Return the node that a searched text belongs to: the last open one with it, else the last; None for none.

        The text may begin with a question and go on with earlier answers.
        """
        asking = [node for node in self.nodes.values() if node.kind in _SEARCHABLE]
        same = [node for node in asking if node.text == text] or [
            node
            for node in asking
            if node.id != ROOT and node.kind == "question" and node.text and text.startswith(f"{node.text} ")
        ]
        unsearched = [node for node in same if node.status == "open" and node.id not in self.searched]
        return (unsearched or same or [None])[-1]

    def place(self, query: str) -> RunNode:
        """Return the node below which a query's passages hang: the one that asks it, else the root."""
        return self.asker(query) or self.nodes[ROOT]

    def belongs_to_review(self, query: str) -> bool:
        """Whether a path of paragraphs was searched with this query; its passages are added when it is grown."""
        return any(node.kind == "paragraph" and node.query == query for node in self.nodes.values())

    def paragraph(self, parent: RunNode, passage_id: str) -> RunNode:
        """Return a search's paragraph, which is added as found if it is new."""
        node = RunNode(f"{parent.id}/{passage_id}", "paragraph", parent.id, self.title(passage_id), status="found")
        node.passage_ids = [passage_id]
        return self.add(node)

    def judge(self, parent: RunNode, kept: Iterable[str], notes: Mapping[str, str] | None = None) -> None:
        """Accept paragraphs of a search, with their notes, and reject its others."""
        if parent.status == "open":
            parent.status = "expanded"
        accepted = {passage_id: self.paragraph(parent, passage_id) for passage_id in kept}
        for passage_id, node in accepted.items():
            node.status, node.note = "accepted", (notes or {}).get(passage_id) or node.note
        ids = {node.id for node in accepted.values()}
        for node in parent.children:
            if node.kind == "paragraph" and node.id not in ids:
                node.status = "rejected"


def build_tree(question: str, steps: Iterable[StepEvent]) -> RunTree:
    """Return the tree of a run's events so far; without events the question alone, open.

    Args:
        question: The question that was asked; where it is empty, that of the events is taken if they have one.
        steps: In any order; they are sorted, so that parallel branches look the same each time. An event of a kind
            or a shape that is not known adds nothing.
    """
    builder = TreeBuilder(question)
    for step in sorted(steps, key=event_order):
        grow(parse_event(step), builder)
    tree = RunTree(list(builder.nodes.values()))
    if (end := builder.end) is not None:
        tree.answer, tree.stop_reason = end.answer, end.stop_reason
        quotes = ({**quote, "title": quote["title"] or builder.title(quote["passage_id"])} for quote in end.citations)
        tree.quotes = [cast("Citation", quote) for quote in quotes]
        tree.root.answer, tree.root.status = end.answer, "answered" if end.answer else "unknown"
    if tree.answer:
        _mark_evidence(tree, builder.used)
    return tree


def _mark_evidence(tree: RunTree, used: set[str]) -> None:
    """Mark what the answer rests on, and the way to it.

    The decision may name reviewed paths, or statements, which rest on paragraphs of their query. Else it is what
    was accepted, or was answered, by a cited passage; a passage that was not judged counts where it was found first.
    """
    nodes = tree.nodes
    basis = [node for node in nodes if node.id in used and node.kind in ("paragraph", "statement")]
    ids = {node.id for node in basis}
    ids |= {f"{node.parent}/{key}" for node in basis if node.kind == "statement" for key in node.passage_ids}
    marked = path_ids(nodes, ids or _citing(nodes, tree.quotes))
    for node in nodes:
        node.evidence = bool(node.parent) and node.id in marked


def _citing(nodes: list[RunNode], quotes: list[Citation]) -> set[str]:
    cited = {quote["passage_id"] for quote in quotes}
    judged = [
        node
        for node in nodes
        if node.id != ROOT and node.status in ("accepted", "answered") and cited & {*node.passage_ids}
    ]
    found, covered = {node.id for node in judged}, {key for node in judged for key in node.passage_ids}
    for node in nodes:
        if node.status == "found" and (new := cited & {*node.passage_ids} - covered):
            found.add(node.id)
            covered |= new
        elif node.kind == "knowledge" and any(quote["quote"] and quote["quote"] in node.text for quote in quotes):
            found.add(node.id)
    return found


@singledispatch
def grow(_event: AnyEvent | UnknownEvent, _tree: TreeBuilder) -> None:
    """Change the tree by an event; not by one that is not known."""


@grow.register
def _ignore(
    _event: events.TopicNamed
    | events.United
    | events.QueriesGenerated
    | events.Fused
    | events.Asked
    | events.Retrying
    | events.CacheFailed
    | events.Contextualised
    | events.Routed
    | events.Replied
    | events.Approved,
    _tree: TreeBuilder,
) -> None:
    """Add nothing: the tree shows it by other events, or not at all."""


# Queries and what they found


@grow.register
def _(event: events.QuerySent, tree: TreeBuilder) -> None:
    if tree.belongs_to_review(event.query):
        return
    asker = tree.asker(event.query)
    if tree.interim:  # an answer was given, and the run continues
        tree.add(RunNode(tree.fresh_id("a"), "answer", text=tree.interim, label="answer so far", status="expanded"))
        tree.interim = ""
    if asker is None or asker.id in tree.searched:
        note = f"looks for: {event.why}" if event.why and event.why != tree.question else ""
        label = f"hop {event.hop}" if event.hop else ""
        asker = tree.add(RunNode(tree.fresh_id("q"), "query", text=event.query, label=label, note=note))
    tree.searched.add(asker.id)
    if asker.status == "open":
        asker.status = "expanded"


@grow.register
def _(event: events.Retrieved, tree: TreeBuilder) -> None:
    tree.add_titles(event.passage_ids, event.titles)
    if not tree.belongs_to_review(event.query):
        for key in event.passage_ids:
            tree.paragraph(tree.place(event.query), key)


@grow.register
def _(event: events.PassagesGiven, tree: TreeBuilder) -> None:
    tree.add_titles(event.passage_ids, event.titles)
    for key in event.passage_ids:
        tree.paragraph(tree.nodes[ROOT], key).note = "given"


@grow.register
def _(event: events.Filtered, tree: TreeBuilder) -> None:
    kept = [each["passage_id"] for each in event.kept]
    tree.add_titles(kept, [each["title"] for each in event.kept])
    tree.judge(tree.place(event.query), kept)


@grow.register
def _(event: events.Reranked, tree: TreeBuilder) -> None:
    tree.judge(tree.place(event.query), event.passage_ids)


@grow.register
def _(event: events.Compressed, tree: TreeBuilder) -> None:
    kept = {each["passage_id"]: each["text"] for each in event.kept}
    place = tree.place(event.query)
    # Paragraphs may be read in several turns, so that one that was kept before stays.
    before = {
        node.passage_ids[0]: node.note
        for node in place.children
        if node.kind == "paragraph" and node.status == "accepted" and node.note
    }
    tree.judge(place, before | kept, before | kept)


@grow.register
def _(event: events.Weighed, tree: TreeBuilder) -> None:
    tree.place(event.query).note = event.judgement


@grow.register
def _(event: events.Recalled, tree: TreeBuilder) -> None:
    if event.known:
        parent, label = tree.place(event.query).id, "model's own knowledge"
        tree.add(RunNode(tree.fresh_id("k"), "knowledge", parent, event.text, label, status="found"))


@grow.register
def _(event: events.Blended, tree: TreeBuilder) -> None:
    for name, text in event.queries.items():
        label = f"{name.replace('_', ' ')} query"
        asker = tree.asker(text)
        if asker is not None and asker.id != ROOT and asker.id not in tree.searched:
            asker.label += f", {label}"  # one text is searched once
        else:
            tree.add(RunNode(tree.fresh_id("q"), "query", text=text, label=label))


# Statements, decisions, samples


@grow.register
def _(event: events.Extracted, tree: TreeBuilder) -> None:
    for each in event.statements:
        text = each["statement"]
        titles = [title for key in each["passage_ids"] if not text.startswith(title := tree.title(key))]
        node = RunNode(each["id"], "statement", tree.place(event.query).id, text)
        node.note, node.passage_ids = f"from {', '.join(titles)}" if titles else "", each["passage_ids"]
        tree.add(node)


@grow.register
def _(event: events.Verified, tree: TreeBuilder) -> None:
    for each in event.statements:
        node = tree.nodes.get(each["id"])
        if node and node.kind == "statement":
            node.status = "accepted" if each["kept"] else "rejected"


@grow.register
def _(event: events.Decided, tree: TreeBuilder) -> None:
    tree.interim, tree.used = event.answer, set(event.used)


@grow.register
def _(event: events.Reasoned, tree: TreeBuilder) -> None:
    if text := event.reasoning or event.answer:
        answer = event.answer if event.reasoning else ""
        label = "first reasoning"
        tree.add(RunNode(tree.fresh_id("t"), "thought", text=text, label=label, status="found", answer=answer))


@grow.register
def _(event: events.Sampled, tree: TreeBuilder) -> None:
    _add_samples(tree, event.answers)


@grow.register
def _(event: events.Shortened, tree: TreeBuilder) -> None:
    if len(event.sampled) > 1:
        _add_samples(tree, event.sampled)


def _add_samples(tree: TreeBuilder, answers: list[str]) -> None:
    for number, answer in enumerate(answers, start=1):
        label = f"sample {number} of {len(answers)}"
        status: Status = "found" if answer else "unknown"
        tree.add(RunNode(f"s{number}", "answer", text=answer or "no answer", label=label, status=status))


@grow.register
def _(event: events.Voted | events.Compared, tree: TreeBuilder) -> None:
    if isinstance(event, events.Compared):
        for number, recall in enumerate(event.citation_recall[: len(event.answers)], start=1):
            if node := tree.nodes.get(f"s{number}"):
                node.note = f"citation recall {recall:.2f}"
    if event.chosen is not None and (node := tree.nodes.get(f"s{event.chosen + 1}")):
        node.status = "accepted"


@grow.register
def _(event: events.Answered, tree: TreeBuilder) -> None:
    tree.end = event


# Trees of questions, and hops


@grow.register
def _(event: events.Planted, tree: TreeBuilder) -> None:
    if not tree.question:
        tree.question = tree.nodes[ROOT].text = event.question


@grow.register
def _(event: events.Decomposed, tree: TreeBuilder) -> None:
    if event.sub_questions and event.id in tree.nodes:
        tree.nodes[event.id].status = "expanded"
    for part in event.sub_questions:
        tree.add(RunNode(part["id"], "question", event.id, part["question"]))


@grow.register
def _(event: events.SelfKnowledgeJudged, tree: TreeBuilder) -> None:
    node = tree.add(RunNode(event.id, "question", text=event.question))
    node.note = "known to the model" if event.known else ""


@grow.register
def _(event: events.RelevanceJudged, tree: TreeBuilder) -> None:
    node = tree.add(RunNode(event.id, "question", text=event.question))
    for key in event.passage_ids:
        tree.paragraph(node, key)
    tree.judge(node, event.relevant)


@grow.register
def _(event: events.Solved, tree: TreeBuilder) -> None:
    node = tree.add(RunNode(event.id, "question", event.parent, event.question))
    node.status = "answered" if event.status == "answered" else "unknown"
    node.answer, node.passage_ids, node.note = event.answer, event.passage_ids, _SETTLED.get(event.how, "")


@grow.register
def _(event: events.Deduced, tree: TreeBuilder) -> None:
    node = RunNode(tree.fresh_id("hop"), "question", text=event.question, label=f"hop {event.hop or ''}".strip())
    node.note = f"from memory: {event.generated}" if event.generated else event.thought
    if event.repeated or event.limit:
        node.status, node.note = "pruned", "no more hops are allowed" if event.limit else "asked before"
        tree.searched.add(node.id)  # nothing is searched for it
    tree.add(node)


@grow.register
def _(event: events.Grounded, tree: TreeBuilder) -> None:
    place = tree.asker(event.question)
    for key in event.passage_ids if place else ():
        node = tree.paragraph(cast("RunNode", place), key)
        node.status = "accepted" if key == event.passage_id else "rejected"
        if key == event.passage_id:
            node.note = event.cited


@grow.register
def _(event: events.Revised, tree: TreeBuilder) -> None:
    node = tree.asker(event.question)
    if node is None:
        return
    node.answer, node.status = event.answer, "answered" if event.answer else "unknown"
    node.passage_ids = event.passage_ids
    for key in event.passage_ids:
        tree.paragraph(node, key).status = "accepted"
    if event.generated and event.grounded:
        change = "corrected by passages" if event.changed else "confirmed by passages"
        node.note = f"from memory: {event.generated}; {change}"
    elif event.generated:
        node.note = "from memory; no passage supports it"


@grow.register
def _(event: events.ThoughtAdded, tree: TreeBuilder) -> None:
    if not event.text:
        return
    node = tree.add(RunNode(tree.fresh_id("t"), "thought", text=event.text, label="thought"))
    if not event.new:
        node.status, node.note = "pruned", "said before"
    elif event.reached or event.limit:
        node.status = "found"
    if node.status != "open":  # the chain ends here
        tree.searched.add(node.id)


# Trees of passages


def _add_path(tree: TreeBuilder, node: TreeNode) -> RunNode:
    """Add a path's last paragraphs; the bare results of its search give way to them."""
    keys = node["passage_ids"]
    tree.add_titles(keys, node["titles"])
    for bare in [tree.nodes.get(f"{node['parent']}/{key}") for key in keys]:
        if bare and not bare.children:
            del tree.nodes[bare.id]
            above = tree.nodes[bare.parent]
            above.children = [child for child in above.children if child is not bare]
    text = " · ".join(map(tree.title, keys))
    return tree.add(RunNode(node["id"], "paragraph", node["parent"], text, passage_ids=keys))


@grow.register
def _(event: events.Grown, tree: TreeBuilder) -> None:
    for each in event.nodes:
        node = _add_path(tree, each)
        if isinstance(event, events.Pruned):
            node.status, node.note = "pruned", each.get("why", "")


@grow.register
def _(event: events.Reviewed, tree: TreeBuilder) -> None:
    path = TreeNode(id=event.id, parent=event.parent, passage_ids=event.passage_ids, titles=event.titles)
    node = _add_path(tree, path)
    node.status, node.answer = _VERDICTS.get(event.verdict, "unknown"), event.answer
    # Nothing follows from the analysis of a rejected path.
    notes = {"accept": event.analysis, "search": event.analysis, "reject": ""}
    node.note = notes.get(event.verdict, "no usable review")


@grow.register
def _(event: events.Expanded, tree: TreeBuilder) -> None:
    if node := tree.nodes.get(event.id):
        node.status, node.query = "expanded", event.query


_KINDS: tuple[type[Event], ...] = get_args(AnyEvent)
TREE_EVENTS = frozenset(kind.event for kind in _KINDS if grow.dispatch(kind) is not cast("object", _ignore))
"""The kinds of events that change the tree, by their names on the wire."""
