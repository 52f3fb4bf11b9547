"""Write the next sentence of a text, with the passages that it cites."""

from langgraph.runtime import Runtime
from pydantic import Field

from hopgraph.nodes.core.ask import Ask, ask, calls_of, yes_no_variable
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, whole_excerpt
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, ShownNumbers, normalized_query
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import excerpts_of_all_queries
from hopgraph.state import Evidence, Excerpt, Knowledge, Update
from hopgraph.state.events import Extracted, ExtractedStatement
from hopgraph.state.revising import VtgContext, VtgState
from hopgraph.tools.prompts import Value, clean


class CitedSentence(ReplyModel):
    """A reply of the role `next_sentence`; empty when the text is enough for the answer."""

    sentence: ShortText
    used_passages: ShownNumbers = Field(default_factory=list[int])


def memory_of(state: VtgState) -> list[Excerpt]:
    """List the passages of the long-term memory, what the question found, then those of the last search; each once."""
    question = [whole_excerpt(each, each["score"]) for each in state["passages"] if each["hop"] == 1]
    return excerpts_of_all_queries([Knowledge(query=state["question"], excerpts=question), *state["knowledge"]])


async def next_sentence(state: VtgState, runtime: Runtime[VtgContext]) -> Update:
    """Write one more sentence from all passages in memory (VTG's generation).

    A draft that is still there is rejected, and another sentence is written for its place, `max_rewrites` times. There
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
    variables |= yes_no_variable(settings)
    answered = await ask(runtime, state, Ask("next_sentence", variables, CitedSentence, CitedSentence(sentence="")))
    update["calls"] = calls_of([answered])
    if answered.outcome == "budget":
        return {**update, "stop_reason": "budget"}
    text = " ".join(clean(answered.record.sentence).split())
    if normalized_query(text) in {"", *map(normalized_query, [*written, *rejected])}:
        return update
    numbers = [number for number in answered.record.used_passages if 1 <= number <= len(excerpts)]
    cited = list(dict.fromkeys(excerpts[number - 1]["passage_id"] for number in numbers))
    draft = Evidence(id=f"{place}.{attempt}.1", statement=text, passage_ids=cited, quote="", verified=False)
    statement = ExtractedStatement(id=draft["id"], statement=text, passage_ids=list(cited))
    emit(runtime, Extracted(query=question, statements=[statement], dropped=0))
    return {**update, "drafts": [draft]}
