"""Write a text sentence by sentence, and keep sentences that passages support (VTG)."""

from typing import Any

from langgraph.runtime import Runtime
from pydantic import Field

from hopgraph.nodes.core.ask import ModelCall, answer_type_variable, ask, calls_of
from hopgraph.nodes.core.evidence_review import with_statement_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, quoted, shown_ids, whole_excerpt, with_title
from hopgraph.nodes.core.pair_scoring import score_pairs
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, ShownNumbers, normalized_query
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.decide import final_answer
from hopgraph.nodes.generate_queries import new_queries
from hopgraph.nodes.parts import verifying_ask
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Call, Evidence, Excerpt, Knowledge, Query, Update
from hopgraph.state.baselines import VtgContext, VtgState
from hopgraph.state.events import CheckedStatement, Extracted, ExtractedStatement, QueriesGenerated, Verified
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.resources import get_entailment_checker


class CitedSentence(ReplyModel):
    """A reply of the role `next_sentence`; empty if the text suffices for the answer."""

    sentence: ShortText
    used_passages: ShownNumbers = Field(default_factory=list[int])


def memory_of(state: VtgState) -> list[Excerpt]:
    """List the passages of the long-term memory (found for the question), then those of the last search, each once."""
    question = [whole_excerpt(each, each["score"]) for each in state["passages"] if each["hop"] == 1]
    return excerpts_of_all_queries([Knowledge(query=state["question"], excerpts=question), *state["knowledge"]])


async def next_sentence(state: VtgState, runtime: Runtime[VtgContext]) -> Update:
    """Write one more sentence from all passages in memory (VTG's generation).

    A remaining draft has been rejected, and another sentence is written in its place, up to `max_rewrites` times. There
    is no draft when the text ends: nothing is missing, the sentence repeats one, or `max_sentences` or the budget is
    reached.
    """
    settings, rejected = runtime.context, [*state["rejected"], *(draft["statement"] for draft in state["drafts"])]
    again = bool(state["drafts"]) and state["attempts"] <= settings.max_rewrites
    place, attempt = (state["sentence"], state["attempts"] + 1) if again else (state["sentence"] + 1, 1)
    update: Update = {"drafts": [], "rejected": rejected, "sentence": place, "attempts": attempt}
    if place > settings.max_sentences:
        return {**update, "stop_reason": "max_iterations"}
    question, excerpts, written = state["question"], memory_of(state), [each["statement"] for each in state["evidence"]]
    shown = prompt_passages(excerpts, passages_by_id(state["passages"]))
    variables: dict[str, Value] = {"passages": shown, "sentences": written, "rejected": rejected, "question": question}
    variables |= answer_type_variable(settings)
    answered = await ask(
        runtime, state, ModelCall("next_sentence", variables, CitedSentence, CitedSentence(sentence=""))
    )
    update["calls"] = calls_of([answered])
    if answered.outcome == "budget":
        return {**update, "stop_reason": "budget"}
    text = " ".join(clean(answered.record.sentence).split())
    if normalized_query(text) in {"", *map(normalized_query, [*written, *rejected])}:
        return update
    cited = shown_ids(answered.record.used_passages, excerpts)
    draft = Evidence(id=f"{place}.{attempt}.1", statement=text, passage_ids=cited, quote="", verified=False)
    statement = ExtractedStatement(id=draft["id"], statement=text, passage_ids=list(cited))
    emit(runtime, Extracted(query=question, statements=[statement], dropped=0))
    return {**update, "drafts": [draft]}


async def check_sentence(state: VtgState, runtime: Runtime[VtgContext]) -> Update:
    """Move the sentence from `drafts` to `evidence` if passages entail it: those cited, else others in memory (VTG)."""
    [draft], passages = state["drafts"], passages_by_id(state["passages"])
    checker, cited = await get_entailment_checker(runtime.context), draft["passage_ids"]
    others = [each["passage_id"] for each in memory_of(state) if each["passage_id"] not in cited]
    scores, calls, supporting = list[float](), dict[str, Call](), list[list[str]]()
    for choices in ([*([key] for key in cited), *([cited] if len(cited) > 1 else [])], [[key] for key in others]):
        premises = ["\n\n".join(with_title(passages[key]) for key in choice) for choice in choices]
        found, took = await score_pairs(runtime, checker, [(each, draft["statement"]) for each in premises])
        scores, calls = [*scores, *found], {**calls, **took}
        supporting += [choice for choice, score in zip(choices, found, strict=True) if score >= checker.threshold]
        if supporting:
            break
    best = max(scores, default=0.0)
    checked = CheckedStatement(id=draft["id"], statement=draft["statement"], score=best, kept=bool(supporting))
    emit(runtime, Verified(statements=[checked], repeated=0))
    if not supporting:
        return {"calls": calls}
    kept = quoted(Evidence({**draft, "passage_ids": supporting[0], "verified": True}), passages)
    return {"drafts": [], "evidence": [kept], "calls": calls}


async def ask_about_sentence(state: VtgState, runtime: Runtime[VtgContext]) -> Update:
    """Write `queries` for an unsupported sentence, as the model asks; without a usable one it is its own query."""
    sentence, most = state["drafts"][0]["statement"], runtime.context.max_queries
    answered = await ask(runtime, state, verifying_ask(sentence, state["question"], most=most))
    if answered.outcome == "budget":
        return {"drafts": [], "stop_reason": "budget", "calls": calls_of([answered])}
    queries = new_queries(answered.record, known=[], why=sentence)[:most] or [Query(text=sentence, why=sentence)]
    emit(runtime, QueriesGenerated(queries=[query["text"] for query in queries], missing=sentence))
    return {"queries": queries, "iteration": state["iteration"] + 1, "calls": calls_of([answered])}


@with_statement_review
async def answer_from_sentences(state: VtgState, runtime: Runtime[Any]) -> Update:
    """Write the short answer that the sentences support, as MIGRES's `final_answer` does from its statements."""
    return await final_answer(state, runtime)
