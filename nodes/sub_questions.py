"""Break a question into parts that are answered in sequence: sub-questions, verifying questions, a chain of queries."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from langgraph.runtime import Runtime
from pydantic import BeforeValidator

from hopgraph.nodes.core.ask import Ask, ask, ask_all, calls_of
from hopgraph.nodes.core.reply_text import (
    ReplyModel,
    ShortText,
    max_items_hint,
    normalized_query,
    read_list,
    short_answer,
)
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.generate_queries import NewQueries, new_queries
from hopgraph.nodes.hops.hop_history import answered_lines, open_hop
from hopgraph.nodes.question_tree.decomposition import (
    decomposition_ask,
    describe,
    fill_references,
    read_sub_questions,
    referred_numbers,
)
from hopgraph.nodes.shorten import majority_answer
from hopgraph.state import Context, MethodState, Query
from hopgraph.state.baselines import GenReadContext, PartsState
from hopgraph.state.events import Decomposed, ReferencesFilled, SubQuestion
from hopgraph.state.revising import EditingState, SearchainContext, SearchainState, VerifyAndEditContext
from hopgraph.state.schemas import MAX_QUESTION_CHARACTERS
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.comparison import lexical_similarity


async def sub_questions(state: MethodState, runtime: Runtime[GenReadContext]) -> Mapping[str, Any]:
    """Break the question down; writes `sub_questions`, in the model's order; later ones may refer to earlier answers.

    They are empty where there are none, no reply could be used or the budget did not reach.
    """
    question, most = state["question"], runtime.context.max_sub_questions
    answered = await ask(runtime, state, decomposition_ask(question, most=most, in_order=True))
    found = read_sub_questions(answered, most=most, known=[question])
    report_parts(question, found, runtime)
    return {
        "sub_questions": found,
        "stop_reason": "budget" if answered.outcome == "budget" else state["stop_reason"],
        "calls": calls_of([answered]),
    }


def report_parts(question: str, parts: Sequence[str], runtime: Runtime[Any], *, prefix: str = "0") -> None:
    """Report the parts of the question as a `decomposed` event; another prefix of their ids for each decomposition."""
    listed = [SubQuestion(id=f"{prefix}.{number}", question=text) for number, text in enumerate(parts, start=1)]
    emit(runtime, Decomposed(id="0", depth=0, question=question, sub_questions=listed))


async def next_sub_question(state: PartsState, runtime: Runtime[Context]) -> Mapping[str, Any]:
    """Open a hop for the next part, with the answers in it that it refers to, and make it the only query.

    Writes `hops`, `queries` and `iteration`. A part whose answer is not known stands for it in quotation marks.
    No queries: all parts are answered, or the budget is used up. A question without parts stays the query.
    """
    hops, parts, whole = state["hops"], state["sub_questions"], state["question"]
    if not parts:
        return {}
    if len(hops) == len(parts) or state["stop_reason"] == "budget":
        return {"queries": []}
    number, text = len(hops) + 1, parts[len(hops)]
    named = referred_numbers(text, before=number, whole=whole)
    names = {each: hops[each - 1]["answer"] or describe(hops[each - 1]["question"]) for each in named}
    question = fill_references(text, names)[:MAX_QUESTION_CHARACTERS]
    if question != text:
        emit(runtime, ReferencesFilled(id=f"0.{number}", question=question))
    return {
        "hops": [*hops, open_hop(number, question)],
        "queries": [Query(text=question, why=whole)],
        "iteration": number,
    }


def route_sub_question(state: PartsState) -> Literal["look up", "all answered"]:
    """Route by whether there is a question to look up."""
    return "look up" if state["queries"] else "all answered"


def verifying_ask(sentence: str, question: str, *, most: int) -> Ask[NewQueries]:
    """Make the request for the questions that must be looked up to check a sentence; the fallback is to have none."""
    variables = {"sentence": sentence, "question": question, "max_queries": most}
    return Ask("verifying_questions", variables, NewQueries, NewQueries(queries=[]))


async def verifying_questions(state: EditingState, runtime: Runtime[VerifyAndEditContext]) -> Mapping[str, Any]:
    """Ask one question about each sentence of the rationale, all at the same time (Verify-and-Edit).

    The rationale is that of the first sample with the majority's answer, else of the first sample. Writes
    `sub_questions`, and the sentences as `claims`. A sentence without a usable question is its own query; without a
    rationale the question stands for its only sentence, and nothing is claimed.
    """
    drafts, whole = state["drafts"], state["question"]
    chosen = majority_answer([draft["answer"] for draft in drafts])
    reasoning = drafts[chosen or 0]["reasoning"] if drafts else ""
    claims = [reasoning[start:end] for start, end in split_sentences(reasoning)][: runtime.context.max_sentences]
    sentences = [Query(text=each, why="") for each in claims or [whole]]
    asks = [verifying_ask(each["text"], whole, most=1) for each in sentences]
    answers = await ask_all(runtime, state, asks)
    replies = [new_queries(each.record, known=[], why="") for each in answers]
    found = [(*new, own)[0]["text"] for new, own in zip(replies, sentences, strict=True)]
    report_parts(whole, found, runtime)
    cut_off = any(each.outcome == "budget" for each in answers)
    return {
        "sub_questions": found,
        "claims": claims,
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }


_SAME = 0.9  # how similar the words of two queries are that ask the same


class ChainLink(ReplyModel):
    """A query with its answer; empty where it is unsolved."""

    query: ShortText
    answer: ShortText = ""


class QueryChain(ReplyModel):
    """A reply of the role `write_chain`."""

    chain: Annotated[list[ChainLink], BeforeValidator(read_list), max_items_hint(10)]


async def write_chain(state: SearchainState, runtime: Runtime[SearchainContext]) -> Mapping[str, Any]:
    """Ask for a chain of queries that leads to the answer, given the nodes that were checked (SearChain).

    Writes `sub_questions`, those checked and after them what is new of the chain, and `claims`, their answers. Nothing
    is new after the last round, at the limit of nodes (both `max_iterations`), or when the budget runs out
    (`budget`). Without a usable chain the question itself is the first node, unsolved.
    """
    settings, question, hops = runtime.context, state["question"], state["hops"]
    known, chain = [hop["question"] for hop in hops], dict[str, str]()
    if state["rounds"] >= settings.max_rounds or len(hops) >= settings.max_hops:
        return {"sub_questions": known, "stop_reason": "max_iterations"}
    variables: dict[str, Value] = {"question": question, "history": answered_lines(hops)}
    answered = await ask(runtime, state, Ask("write_chain", variables, QueryChain, QueryChain(chain=[])))
    update = {"rounds": state["rounds"] + 1, "calls": calls_of([answered])}
    if answered.outcome == "budget":
        return {**update, "sub_questions": known or [question], "stop_reason": "budget"}
    for link in answered.record.chain[: 2 * settings.max_hops]:
        query, claim = " ".join(clean(link.query).split()), short_answer(link.answer)
        seen = any(lexical_similarity(query, each) >= _SAME or query == each for each in [*known, *chain])
        if normalized_query(query) and not seen and len(known) + len(chain) < settings.max_hops:
            chain[query] = "" if normalized_query(claim) == "unsolved" else claim
    if chain := chain or ({} if hops else {question: ""}):
        report_parts(question, list(chain), runtime, prefix=str(update["rounds"]))
    return {**update, "sub_questions": [*known, *chain], "claims": [*[""] * len(known), *chain.values()]}
