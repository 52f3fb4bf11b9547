"""Extract from the kept passages the statements that are useful for their query."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator

from hopgraph.nodes.core.ask import ModelCall, ask_all, calls_of
from hopgraph.nodes.core.excerpts import count_shown, passages_by_id, prompt_passages, quoted, shown_ids
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShownNumbers, read_list, schema_hint
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Evidence, Excerpt, Knowledge, Passage, Update
from hopgraph.state.events import Extracted, ExtractedStatement
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.tools.io.background import LONG_TEXT, maybe_to_thread
from hopgraph.tools.prompts import Value, clean


class UsefulStatement(ReplyModel):
    """A statement and the numbers of the passages that support it, as shown in the prompt."""

    info: LongText
    support_passages: ShownNumbers


class Extraction(ReplyModel):
    """A reply of the role `extract`."""

    useful_information: Annotated[list[UsefulStatement], BeforeValidator(read_list), schema_hint(maxItems=15)]


_NOTHING = Extraction(useful_information=[])


async def extract(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Ask for useful statements with citations (section 3.2, the paper's Leaf Module): once, or per query.

    Each prompt shows at most `context_passages` passages. With `extraction=joint` these are the best of all
    queries. Without passages there is no call. A statement that cites no shown passage is dropped. Writes `knowledge`
    (what was shown) and `drafts`, in the order of queries and replies; with `memory` also `shown`, which counts what
    a usable reply was made from, and `excluded`: the passages with no sentence left.
    """
    passages, question = passages_by_id(state["passages"]), state["question"]
    settings, knowledge = runtime.context, state["knowledge"]
    queries, joint = [entry["query"] for entry in knowledge], settings.extraction == "joint"
    if joint:
        knowledge = best_of_all(knowledge, settings.context_passages)
    entries = [(number, entry) for number, entry in enumerate(knowledge, start=1) if entry["excerpts"]]
    variables = [
        {
            "passages": prompt_passages(entry["excerpts"], passages),
            **(_joint_question(question, queries) if joint else question_of_query(entry["query"], question)),
        }
        for _, entry in entries
    ]
    asks = [ModelCall("extract", each, Extraction, _NOTHING) for each in variables]
    answers = await ask_all(runtime, state, asks)
    drafts: list[Evidence] = []
    shown: list[Excerpt] = []
    for (number, entry), answer in zip(entries, answers, strict=True):
        prefix = f"{state['iteration']}.{number}"
        size = sum(len(passages[each["passage_id"]]["text"]) for each in entry["excerpts"])
        long = size * len(answer.record.useful_information) > LONG_TEXT  # quotes take time in long passages
        found = await maybe_to_thread(long, _statements, answer.record, entry["excerpts"], passages, prefix)
        drafts.extend(found)
        if answer.outcome == "replied" and settings.memory:
            shown += entry["excerpts"]
        statements = [
            ExtractedStatement(id=each["id"], statement=each["statement"], passage_ids=each["passage_ids"])
            for each in found
        ]
        dropped = len(answer.record.useful_information) - len(found)
        emit(runtime, Extracted(query=entry["query"], statements=statements, dropped=dropped))
    memory = await count_shown(state.get("shown", {}), shown, passages)
    return {"knowledge": knowledge, "drafts": drafts, **memory, "calls": calls_of(answers)}


def question_of_query(query: str, question: str) -> dict[str, Value]:
    """Return the variables that ask an iteration's query, and the original question if it differs."""
    return {"question": query} if query == question else {"question": query, "original_question": question}


def _joint_question(question: str, queries: Sequence[str]) -> dict[str, Value]:
    others = [each for each in queries if each != question]
    return {"question": question, "queries": others} if others else {"question": question}


def best_of_all(knowledge: Sequence[Knowledge], most: int) -> list[Knowledge]:
    """Join the excerpts kept for several queries into one entry of at most `most` passages, best first, ties in order.

    What two queries kept of a passage is shown together, with the better score.
    """
    best: dict[str, Excerpt] = {}
    for excerpt in (each for entry in knowledge for each in entry["excerpts"]):
        other = best.setdefault(excerpt["passage_id"], excerpt)
        if other is not excerpt:
            best[excerpt["passage_id"]] = _joined(other, excerpt)
    chosen = sorted(best.values(), key=lambda each: -each["score"])[:most]
    return [Knowledge(query="; ".join(entry["query"] for entry in knowledge), excerpts=chosen)]


def _joined(first: Excerpt, second: Excerpt) -> Excerpt:
    spans: list[list[int]] = []
    for start, end in sorted([*first["spans"], *second["spans"]]):
        if spans and start < spans[-1][1]:
            spans[-1][1] = max(end, spans[-1][1])
        else:
            spans.append([start, end])
    text = " ".join(dict.fromkeys(each["text"] for each in (first, second) if each["text"]))
    return Excerpt({**first, "spans": spans, "text": text, "score": max(first["score"], second["score"])})


def _statements(
    extraction: Extraction, excerpts: Sequence[Excerpt], passages: Mapping[str, Passage], prefix: str
) -> list[Evidence]:
    found: list[Evidence] = []
    for number, useful in enumerate(extraction.useful_information, start=1):
        statement = clean(useful.info).strip()
        cited = shown_ids(useful.support_passages, excerpts)
        if not statement or not cited:
            continue
        evidence = Evidence(id=f"{prefix}.{number}", statement=statement, passage_ids=cited, quote="", verified=False)
        found.append(quoted(evidence, passages))
    return found
