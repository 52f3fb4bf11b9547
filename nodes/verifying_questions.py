"""Ask verifying questions about the sentences of a rationale."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.generate_queries import NewQueries, new_queries
from hopgraph.nodes.hops.hop_history import open_hop
from hopgraph.nodes.shorten import majority_answer
from hopgraph.state import Query
from hopgraph.state.events import Deduced
from hopgraph.state.hops import Hop
from hopgraph.state.revising import EditingState, VerifyAndEditContext
from hopgraph.tools.text import split_sentences


def verifying_ask(sentence: str, question: str, *, most: int) -> Ask[NewQueries]:
    """Make the request for the questions that must be looked up to check a sentence; the fallback is to have none."""
    variables = {"sentence": sentence, "question": question, "max_queries": most}
    return Ask("verifying_questions", variables, NewQueries, NewQueries(queries=[]))


async def verifying_questions(state: EditingState, runtime: Runtime[VerifyAndEditContext]) -> Mapping[str, Any]:
    """Ask one question about each sentence of the rationale, all at the same time (Verify-and-Edit).

    The rationale is that of the first sample with the majority's answer, else of the first sample. Writes a hop for
    each sentence and `queries`, in the order of the sentences. A sentence without a usable question is its own query;
    without a rationale the question stands for its only sentence. Calls are left over for as many edits.
    """
    drafts, whole = state["drafts"], state["question"]
    chosen = majority_answer([draft["answer"] for draft in drafts])
    reasoning = drafts[chosen or 0]["reasoning"] if drafts else ""
    sentences = [reasoning[start:end] for start, end in split_sentences(reasoning)][: runtime.context.max_sentences]
    asks = [verifying_ask(sentence, whole, most=1) for sentence in sentences or [whole]]
    answers = await ask_all(runtime, state, asks, reserve_calls=1 + len(asks))
    hops, queries = list[Hop](), list[Query]()
    for number, (sentence, answered) in enumerate(zip(sentences or [whole], answers, strict=True), start=1):
        query = next(iter(new_queries(answered.record, known=[], why=sentence)), Query(text=sentence, why=""))
        generated = sentence if sentences else ""
        emit(
            runtime,
            Deduced(hop=number, question=query["text"], thought="", generated=generated, repeated=False, limit=False),
        )
        hops.append(open_hop(number, query["text"], generated=generated))
        queries.append(query)
    cut_off = any(each.outcome == "budget" for each in answers)
    return {
        "hops": hops,
        "queries": queries,
        "stop_reason": "budget" if cut_off else state["stop_reason"],
        "calls": calls_of(answers),
    }
