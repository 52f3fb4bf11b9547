"""Ask verifying questions about the sentences of a rationale."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask_all, spending_update
from hopgraph.nodes.generate_queries import NewQueries, new_queries
from hopgraph.nodes.shorten import majority_answer
from hopgraph.nodes.sub_questions import report_parts
from hopgraph.state import Query, Update
from hopgraph.state.revising import EditingState, VerifyAndEditContext
from hopgraph.tools.text import split_sentences


def verifying_ask(sentence: str, question: str, *, most: int) -> Ask[NewQueries]:
    """Make the request for the questions that must be looked up to check a sentence; the fallback is to have none."""
    variables = {"sentence": sentence, "question": question, "max_queries": most}
    return Ask("verifying_questions", variables, NewQueries, NewQueries(queries=[]))


async def verifying_questions(state: EditingState, runtime: Runtime[VerifyAndEditContext]) -> Update:
    """Ask one question about each sentence of the rationale, all at the same time (Verify-and-Edit).

    The rationale is that of the first sample with the majority's answer. Its sentences are `claims`; one without a
    usable question is its own query, and without any the question is the only query. Writes `sub_questions` and
    `claims`.
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
    return {"sub_questions": found, "claims": claims, **spending_update(state, answers)}
