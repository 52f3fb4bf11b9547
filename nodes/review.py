"""Review paths of paragraphs: reject, accept, or search further."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from langgraph.runtime import Runtime
from pydantic import model_validator
from pydantic.json_schema import SkipJsonSchema

from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask_all, calls_of, ran_out_of_budget
from hopgraph.nodes.core.budget import is_exhausted
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.review_tree import nodes_with_status, passages_on_path, whole_excerpts
from hopgraph.nodes.self_knowledge import JudgedTrue
from hopgraph.state import BudgetState, Evidence, Passage, Update
from hopgraph.state.events import Reviewed
from hopgraph.state.reducers import merge_calls
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewNode, ReviewTreeState, TreeOfReviewsContext, Verdict
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text.comparison import normalize_answer

ReviewContextT = TypeVar("ReviewContextT", bound=ReviewContext)


class Review(ReplyModel):
    """A reply of the role `review`, which reasons before each judgement (Table 7)."""

    relevance_thought: LongText = ""
    relevant: JudgedTrue
    support_thought: LongText = ""
    enough: JudgedTrue = False
    analysis: ShortText = ""
    answer: ShortText = ""
    query: ShortText = ""

    @model_validator(mode="after")
    def _answered(self) -> "Review":
        if self.relevant and self.enough and not short_answer(self.answer):
            raise ValueError("the paragraphs are enough, but answer is missing")
        return self

    @property
    def verdict(self) -> Verdict:
        """Return the verdict that follows from the two judgements (section 3.2)."""
        if not self.relevant:
            return "reject"
        return "accept" if self.enough else "search"


class ReviewWithQuery(Review):
    """A review that must also write the next query."""

    @model_validator(mode="after")
    def _searchable(self) -> "ReviewWithQuery":
        if self.verdict == "search" and not clean(self.query).strip():
            raise ValueError("the paragraphs are not enough, but query is missing")
        return self


class DirectReview(ReviewWithQuery):
    """A reply of the role `review_directly`, which is not asked for its reasoning."""

    relevance_thought: SkipJsonSchema[LongText] = ""
    support_thought: SkipJsonSchema[LongText] = ""


def make_review_node(
    choose: Callable[[list[ReviewNode], ReviewContextT], list[ReviewNode]],
) -> Callable[[ReviewTreeState, Runtime[ReviewContextT]], Awaitable[Update]]:
    """Return the node that reviews open paths, one call each, concurrently (section 3.2).

    `choose` selects those to review now from the open nodes, in tree order. The node writes `tree`, `evidence`
    (accepted paths, with the node's id) and `frontier` (nodes to expand next). An unusable reply leaves a node
    `unread`.
    """

    async def review(state: ReviewTreeState, runtime: Runtime[ReviewContextT]) -> Update:
        chosen = choose(nodes_with_status(state["tree"], "open"), runtime.context)
        passages = passages_by_id(state["passages"])
        paths = [passages_on_path(state["tree"], node) for node in chosen]
        asked = state["asked"] if runtime.context.shows_queries else []
        wanted = [_ask(state["question"], path, passages, runtime.context, asked) for path in paths]
        answers = await ask_all(runtime, state, wanted)
        reviewed = [
            _reviewed(node, answer, runtime.context)
            for node, answer in zip(chosen, answers, strict=True)
            if answer.outcome != "budget"
        ]
        accepted = [node for node in reviewed if node["verdict"] == "accept"]
        for node in reviewed:
            titles = [passages[key]["title"] for key in node["passage_ids"]]
            emit(runtime, Reviewed.from_record(node, titles=titles))
        frontier = [node["id"] for node in reviewed if is_to_expand(node, runtime.context)]
        tree = {**state["tree"], **{node["id"]: node for node in reviewed}}
        update: Update = {
            "tree": {node["id"]: node for node in reviewed},
            "evidence": [_evidence(each, passages_on_path(tree, each), state["question"]) for each in accepted],
            "frontier": frontier,
            "calls": calls_of(answers),
        }
        waiting = len(nodes_with_status(tree, "open"))
        if (waiting or frontier) and _ends(state, answers, bool(frontier), runtime.context):
            update["stop_reason"] = "budget"
        return update

    return review


def every_open(opened: list[ReviewNode], _settings: ReviewContext) -> list[ReviewNode]:
    """Choose all open nodes."""
    return opened


def by_search_order(opened: list[ReviewNode], settings: TreeOfReviewsContext) -> list[ReviewNode]:
    """Choose a whole level at once or, in a depth search, the first node in tree order."""
    return opened if settings.search == "breadth" else opened[:1]


def _ask(
    question: str,
    path: Sequence[str],
    passages: Mapping[str, Passage],
    settings: ReviewContext,
    asked: Sequence[str],
) -> ModelCall[Review]:
    variables: dict[str, Value] = {
        "passages": prompt_passages(whole_excerpts(path, passages), passages),
        "question": question,
        **({"asked": asked} if asked else {}),
        **answer_type_variable(settings),
    }
    step = "review_directly" if settings.expansion == "direct" else "review"
    schema = {"mpc": Review, "direct": DirectReview}.get(settings.expansion, ReviewWithQuery)
    return ModelCall(step, variables, schema, Review(relevant=False))


def _reviewed(node: ReviewNode, answered: CallResult[Review], settings: ReviewContext) -> ReviewNode:
    reply = answered.record
    if answered.outcome == "fallback":
        return {**node, "status": "reviewed", "verdict": "unread"}
    accepted = reply.verdict == "accept"
    return {
        **node,
        "status": "reviewed",
        "verdict": reply.verdict,
        "analysis": clean(reply.analysis).strip(),
        "answer": short_answer(reply.answer, yes_no=settings.answer_type == "yes_no") if accepted else "",
        "query": "" if accepted else " ".join(clean(reply.query).split()),
    }


def is_to_expand(node: ReviewNode, settings: ReviewContext) -> bool:
    """Return whether a reviewed path should be searched further: it needs more, and the depth allows it."""
    return needs_more(node, settings) and node["depth"] < settings.max_depth


def needs_more(node: ReviewNode, settings: ReviewContext) -> bool:
    """Return whether a path was judged insufficient; an irrelevant one counts without relevance pruning."""
    return node["verdict"] == "search" or (node["verdict"] == "reject" and not settings.prune_relevance)


def _evidence(node: ReviewNode, path: list[str], question: str) -> Evidence:
    """Return an accepted path as evidence: its brief analysis, which ends with the answer, and its paragraphs.

    An analysis may name the answer among other names, or imply a yes or no: the statement says which it is.
    """
    analysis, answer = node["analysis"] or question, node["answer"]
    ends = f" {normalize_answer(analysis)}".endswith(f" {normalize_answer(answer)}")
    statement = analysis if ends else f"{analysis} So the answer is: {answer}."
    return Evidence(id=node["id"], statement=statement, passage_ids=path, quote="", verified=False)


def _ends(
    state: ReviewTreeState, answers: Sequence[CallResult[Review]], expands: bool, settings: ReviewContext
) -> bool:
    """Return whether the budget ends the search: one more step needs a review and the fusion."""
    if ran_out_of_budget(answers):
        return True
    calls = merge_calls(state["calls"], calls_of(answers))
    completion = 1 if expands and settings.expansion == "mpc" else 0
    return is_exhausted(settings, BudgetState(calls=calls, started_at=state["started_at"]), 2 + completion)
