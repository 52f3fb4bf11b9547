"""Build a run's tree from its events: each type has a case in the function of its topic, or is in `UNDRAWN_EVENTS`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, cast

from hopgraph.state import Citation, StepEvent, events
from hopgraph.state.events import EVENTS, Event, TreeNode, event_order, parse_event
from hopgraph.tools.apps.runs.run_tree import RUN_ROOT, SETTLED, RunNode, RunNodeKind, RunTree, Status

_SEARCHABLE = frozenset({"question", "query", "thought"})  # kinds of nodes whose text is searched
_VERDICTS: Final[dict[str, Status]] = {"accept": "accepted", "search": "open", "reject": "rejected"}
"""A path with the verdict `search` stays open until it is searched."""
UNDRAWN_EVENTS = (
    events.RetrievalDecided,
    events.TopicNamed,
    events.United,
    events.QueriesGenerated,
    events.Fused,
    events.Asked,
    events.Retrying,
    events.CacheFailed,
    events.QuestionCondensed,
    events.Routed,
    events.Replied,
    events.Approved,
)
"""Events that the tree does not show, or shows through others."""
TREE_EVENTS = frozenset(kind.event for kind in EVENTS if kind not in UNDRAWN_EVENTS)
"""Names of the events that change the tree."""


@dataclass
class TreeBuilder:
    """A tree under construction. Nodes never change their parents, so it remains a tree."""

    question: str
    nodes: dict[str, RunNode] = field(default_factory=dict[str, RunNode])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    """Titles of the passages seen, by id."""
    searched: set[str] = field(default_factory=set[str])
    """The ids of nodes whose text was searched."""
    used: set[str] = field(default_factory=set[str])
    """The ids of the evidence that the last decision is based on."""
    interim: str = ""
    """The latest answer, which may be the final one."""
    end: events.Answered | None = None

    def __post_init__(self) -> None:
        self.nodes[RUN_ROOT] = RunNode(RUN_ROOT, "question", parent="", text=self.question)

    def add(self, kind: RunNodeKind, text: str, key: str = "", parent: str = RUN_ROOT, **about: Any) -> RunNode:
        """Return the node with this id, added with the fields `about` if new; an unknown parent becomes the root."""
        key = key or next(fresh for number in count(1) if (fresh := f"{kind}{number}") not in self.nodes)
        if key not in self.nodes:
            above = self.nodes.get(parent, self.nodes[RUN_ROOT])
            self.nodes[key] = RunNode(key, kind, above.id, text, **about)
            above.children.append(self.nodes[key])
        return self.nodes[key]

    def add_titles(self, passage_ids: Iterable[str], titles: Iterable[str]) -> None:
        """Add titles of passages."""
        self.titles.update((key, title) for key, title in zip(passage_ids, titles, strict=False) if title)

    def title(self, passage_id: str) -> str:
        """Return a passage's title; its id if it has none."""
        return self.titles.get(passage_id) or passage_id

    def asker(self, text: str) -> RunNode | None:
        """Return the node that a searched text belongs to: the last open one with it, else the last one with it.

        The text may be a question followed by earlier answers. None if there is no such node.
        """
        asking = [node for node in self.nodes.values() if node.kind in _SEARCHABLE]
        asked = [node for node in asking[1:] if node.kind == "question" and node.text]
        begun = [node for node in asked if text.startswith(f"{node.text} ")]
        same = [node for node in asking if node.text == text] or begun
        unsearched = [node for node in same if node.status == "open" and node.id not in self.searched]
        return (unsearched or same or [None])[-1]

    def place(self, query: str) -> RunNode:
        """Return the parent of a query's passages: the node that asks the query, else the root."""
        return self.asker(query) or self.nodes[RUN_ROOT]

    def belongs_to_review(self, query: str) -> bool:
        """Return whether a path of paragraphs was searched with this query, whose passages are added by `Grown`."""
        return any(node.kind == "paragraph" and node.query == query for node in self.nodes.values())

    def paragraph(self, parent: RunNode, passage_id: str, linked_from: str = "") -> RunNode:
        """Return a search's paragraph, adding it as `found` if it is new; `linked_from` is a title that links to it."""
        key, title = f"{parent.id}/{passage_id}", self.title(passage_id)
        note = f"by a link from {linked_from}" if linked_from else ""
        return self.add("paragraph", title, key, parent.id, status="found", note=note, passage_ids=[passage_id])

    def judge(self, parent: RunNode, kept: Mapping[str, str]) -> None:
        """Accept the paragraphs of a search in `kept` (passage id → note, possibly empty), and reject the others."""
        if parent.status == "open":
            parent.status = "expanded"
        for node in parent.children:
            if node.kind == "paragraph":
                node.status = "rejected"
        for passage_id, note in kept.items():
            node = self.paragraph(parent, passage_id)
            node.status, node.note = "accepted", note or node.note


def build_tree(question: str, steps: Iterable[StepEvent]) -> RunTree:
    """Return the tree of a run's events so far, in any order; an empty question is taken from the events."""
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
    """Mark the nodes that the answer is based on, and their ancestors.

    The decision may name reviewed paths, or statements, which are based on paragraphs of their query. Otherwise these
    are the accepted or answered nodes with a cited passage; an unjudged passage counts where it was found first.
    """
    nodes = tree.nodes
    basis = [node for node in nodes if node.id in used and node.kind in ("paragraph", "statement")]
    marked = {node.id for node in basis}
    marked |= {f"{node.parent}/{key}" for node in basis if node.kind == "statement" for key in node.passage_ids}
    marked = marked or _citing(nodes, tree.quotes)
    for node in reversed(nodes):  # children before their parents
        if node.parent and node.id in marked:
            node.evidence = True
            marked.add(node.parent)


def _citing(nodes: list[RunNode], quotes: list[Citation]) -> set[str]:
    cited, found, covered = {quote["passage_id"] for quote in quotes}, set[str](), set[str]()
    judged = {node.id for node in nodes[1:] if node.status in ("accepted", "answered")}
    for node in sorted(nodes[1:], key=lambda node: node.id not in judged):
        cites = cited & {*node.passage_ids}
        recalled = node.kind == "knowledge" and any(quote["quote"] and quote["quote"] in node.text for quote in quotes)
        if recalled or (cites if node.id in judged else node.status == "found" and cites - covered):
            found.add(node.id)
            covered |= cites
    return found


def grow(event: Event, tree: TreeBuilder) -> bool:
    """Apply an event to the tree; return whether the tree handles its type."""
    topics = (_add_search, _add_reading, _add_statements, _add_samples, _add_question, _add_hop, _add_path, _add_stage)
    return any(topic(event, tree) for topic in topics)


def _add_search(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.QuerySent():
            if not tree.belongs_to_review(event.query):
                _add_query(event, tree)
        case events.Retrieved():
            tree.add_titles(event.passage_ids, event.titles)
            if not tree.belongs_to_review(event.query):
                for key in event.passage_ids:
                    tree.paragraph(tree.place(event.query), key, event.linked_from.get(key, ""))
        case events.GoldGiven():
            tree.add_titles(event.passage_ids, event.titles)
            for key in event.passage_ids:
                tree.paragraph(tree.nodes[RUN_ROOT], key).note = "given"
        case events.Blended():
            for name, text in event.queries.items():
                _add_branch(f"{name.replace('_', ' ')} query", text, tree)
        case _:
            return False
    return True


def _add_branch(label: str, query: str, tree: TreeBuilder) -> None:
    asker = tree.asker(query)
    if asker is not None and asker.id != RUN_ROOT and asker.id not in tree.searched:
        asker.label += f", {label}"  # one text is searched once
    else:
        tree.add("query", query, label=label)


def _add_query(event: events.QuerySent, tree: TreeBuilder) -> None:
    asker = tree.asker(event.query)
    if tree.interim:  # an answer was given, and the run continues
        tree.add("answer", tree.interim, label="answer so far", status="expanded")
        tree.interim = ""
    if asker is None or asker.id in tree.searched:
        note = f"looks for: {event.why}" if event.why and event.why != tree.question else ""
        asker = tree.add("query", event.query, label=f"hop {event.hop}" if event.hop else "", note=note)
    tree.searched.add(asker.id)
    if asker.status == "open":
        asker.status = "expanded"


def _add_reading(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.Filtered():
            kept = {each["passage_id"]: each["title"] for each in event.kept}
            tree.add_titles(kept, kept.values())
            tree.judge(tree.place(event.query), dict.fromkeys(kept, ""))
        case events.Reranked():
            tree.judge(tree.place(event.query), dict.fromkeys(event.passage_ids, ""))
        case events.Compressed():
            place = tree.place(event.query)
            # Paragraphs may be compressed in several batches; those kept before stay.
            kept = [node for node in place.children if node.kind == "paragraph" and node.status == "accepted"]
            before = {node.passage_ids[0]: node.note for node in kept if node.note}
            tree.judge(place, before | {each["passage_id"]: each["text"] for each in event.kept})
        case events.PassagesJudged():
            tree.place(event.query).note = event.judgement
        case events.Recalled():
            if event.known:
                place, label = tree.place(event.query), "model's own knowledge"
                tree.add("knowledge", event.text, parent=place.id, label=label, status="found")
        case _:
            return False
    return True


def _add_statements(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.Extracted():
            for each in event.statements:
                text = each["statement"]
                titles = [title for key in each["passage_ids"] if not text.startswith(title := tree.title(key))]
                note = f"from {', '.join(titles)}" if titles else ""
                place, keys = tree.place(event.query), each["passage_ids"]
                tree.add("statement", text, each["id"], place.id, note=note, passage_ids=keys)
        case events.Verified():
            for each in event.statements:
                node = tree.nodes.get(each["id"])
                if node and node.kind == "statement":
                    node.status = "accepted" if each["kept"] else "rejected"
        case events.Decided():
            tree.interim, tree.used = event.answer, set(event.used)
        case events.Reasoned():
            if text := event.reasoning or event.answer:
                answer = event.answer if event.reasoning else ""
                tree.add("thought", text, label="first reasoning", status="found", answer=answer)
        case events.Answered():
            tree.end = event
        case _:
            return False
    return True


def _add_samples(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.Sampled(answers=answers) | events.Shortened(sampled=answers):
            if isinstance(event, events.Shortened) and len(answers) == 1:
                return True  # a single answer does not need a node
            for number, answer in enumerate(answers, start=1):
                label, status = f"sample {number} of {len(answers)}", "found" if answer else "unknown"
                tree.add("answer", answer or "no answer", f"s{number}", label=label, status=status)
        case events.AnswerChosen():
            notes: list[str] = []
            if isinstance(event, events.Compared):
                notes = [f"citation recall {recall:.2f}" for recall in event.citation_recall]
            elif isinstance(event, events.AnswersScored):
                notes = [f"score {score:.2f}" for score in event.scores]
            for number, note in enumerate(notes[: len(event.answers)], start=1):
                if node := tree.nodes.get(f"s{number}"):
                    node.note = note
            if event.chosen is not None and (node := tree.nodes.get(f"s{event.chosen + 1}")):
                node.status = "accepted"
        case _:
            return False
    return True


def _add_stage(event: Event, tree: TreeBuilder) -> bool:
    if not isinstance(event, events.StageEnded):
        return False
    if not event.accepted:
        text, status = (event.answer, "rejected") if event.answer else ("no answer", "unknown")
        tree.add("answer", text, f"stage{event.number}", label=event.method, status=status, note=event.why)
    return True


def _add_question(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.TreeStarted():
            if not tree.question:
                tree.question = tree.nodes[RUN_ROOT].text = event.question
        case events.Decomposed():
            _add_parts(event, tree)
        case events.ReferencesResolved():
            tree.add("question", event.question, event.id).text = event.question
        case events.SelfKnowledgeJudged():
            node = tree.add("question", event.question, event.id)
            node.note = "known to the model" if event.known else ""
        case events.RelevanceJudged():
            node = tree.add("question", event.question, event.id)
            for key in event.passage_ids:
                tree.paragraph(node, key)
            tree.judge(node, dict.fromkeys(event.relevant, ""))
        case events.QuestionSettled():
            node = tree.add("question", event.question, event.id, event.parent)
            node.status = "answered" if event.status == "answered" else "unknown"
            node.answer, node.passage_ids, node.note = event.answer, event.passage_ids, SETTLED.get(event.how, "")
        case _:
            return False
    return True


def _add_parts(event: events.Decomposed, tree: TreeBuilder) -> None:
    if event.sub_questions and event.id in tree.nodes:
        tree.nodes[event.id].status = "expanded"
    for part in event.sub_questions:
        tree.add("question", part["question"], part["id"], event.id)


def _add_hop(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.Deduced():
            node = tree.add("question", event.question, label=f"hop {event.hop or ''}".strip())
            node.note = f"from memory: {event.generated}" if event.generated else event.thought
            if event.repeated or event.limit:
                node.status, node.note = "pruned", "no more hops are allowed" if event.limit else "asked before"
                tree.searched.add(node.id)  # nothing is searched for it
        case events.Grounded():
            if place := tree.asker(event.question):
                for key in event.passage_ids:
                    node = tree.paragraph(place, key)
                    node.status = "rejected"
                    if key == event.passage_id:
                        node.status, node.note = "accepted", event.cited
        case events.Revised():
            _revise(event, tree)
        case events.ThoughtAdded():
            _add_thought(event, tree)
        case _:
            return False
    return True


def _add_thought(event: events.ThoughtAdded, tree: TreeBuilder) -> None:
    if event.text:
        node = tree.add("thought", event.text, label="thought")
        if not event.new:
            node.status, node.note = "pruned", "said before"
        elif event.reached or event.limit:
            node.status = "found"
        if node.status != "open":  # the chain ends here
            tree.searched.add(node.id)


def _revise(event: events.Revised, tree: TreeBuilder) -> None:
    if (node := tree.asker(event.question)) is None:
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


def _add_path(event: Event, tree: TreeBuilder) -> bool:
    match event:
        case events.Grown():
            for each in event.nodes:
                node = _add_paragraphs(tree, each)
                if isinstance(event, events.Pruned):
                    node.status, node.note = "pruned", each.get("why", "")
        case events.Reviewed():
            path = TreeNode(id=event.id, parent=event.parent, passage_ids=event.passage_ids, titles=event.titles)
            node = _add_paragraphs(tree, path)
            node.status, node.answer = _VERDICTS.get(event.verdict, "unknown"), event.answer
            # Nothing follows from the analysis of a rejected path.
            notes = {"accept": event.analysis, "search": event.analysis, "reject": ""}
            node.note = notes.get(event.verdict, "no usable review")
        case events.Expanded():
            if node := tree.nodes.get(event.id):
                node.status, node.query = "expanded", event.query
        case _:
            return False
    return True


def _add_paragraphs(tree: TreeBuilder, node: TreeNode) -> RunNode:
    """Add a path's last paragraphs, replacing the plain results of its search."""
    keys = node["passage_ids"]
    tree.add_titles(keys, node["titles"])
    for bare in [tree.nodes.get(f"{node['parent']}/{key}") for key in keys]:
        if bare and not bare.children:
            tree.nodes.pop(bare.id, None)
            above = tree.nodes[bare.parent]
            above.children = [child for child in above.children if child is not bare]
    text = " · ".join(map(tree.title, keys))
    return tree.add("paragraph", text, node["id"], node["parent"], passage_ids=keys)
