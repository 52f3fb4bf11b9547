"""Extract the statements of the kept passages that are useful for their query."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator

from hopgraph.nodes.core.ask import Ask, ask_all, calls_of
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, quoted
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShownNumbers, read_list, schema_hint
from hopgraph.nodes.core.shown_memory import add_uncited
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Evidence, Excerpt, Passage, Update
from hopgraph.state.events import Extracted, ExtractedStatement
from hopgraph.state.migres import MigresContext, MigresState
from hopgraph.tools.io.background import LONG_SPLIT, LONG_TEXT, in_thread_if
from hopgraph.tools.prompts import Value, clean


class UsefulStatement(ReplyModel):
    """A statement and the numbers of the passages that support it, as shown in the prompt."""

    info: LongText
    support_passages: ShownNumbers


class Extraction(ReplyModel):
    """A reply of the role `extract`."""

    useful_information: Annotated[list[UsefulStatement], BeforeValidator(read_list), schema_hint(maxItems=8)]


_NOTHING = Extraction(useful_information=[])


async def extract(state: MigresState, runtime: Runtime[MigresContext]) -> Update:
    """Ask once per query with passages for useful statements with citations (section 3.2, the paper's Leaf Module).

    A statement that cites no passage shown is dropped. Reads `knowledge`, `passages`, `iteration` and `uncited`. Writes
    `drafts`, in the order of queries and replies; with `memory` also, from usable replies, into `uncited` what was
    shown of passages that no statement cites (the Memory Module's hard negatives), and into `excluded` the passages of
    which no sentence is left.
    """
    passages = passages_by_id(state["passages"])
    entries = [(number, entry) for number, entry in enumerate(state["knowledge"], start=1) if entry["excerpts"]]
    variables: list[dict[str, Value]] = [
        {"passages": prompt_passages(entry["excerpts"], passages), "question": entry["query"]} for _, entry in entries
    ]
    asks = [Ask("extract", each, Extraction, _NOTHING) for each in variables]
    answers = await ask_all(runtime, state, asks)
    drafts: list[Evidence] = []
    shown: list[Excerpt] = []
    for (number, entry), answer in zip(entries, answers, strict=True):
        prefix = f"{state['iteration']}.{number}"
        size = sum(len(passages[each["passage_id"]]["text"]) for each in entry["excerpts"])
        long = size * len(answer.record.useful_information) > LONG_TEXT  # quotes take time in long passages
        found = await in_thread_if(long, _statements, answer.record, entry["excerpts"], passages, prefix)
        drafts.extend(found)
        if answer.outcome == "replied" and runtime.context.memory:
            shown += entry["excerpts"]
        statements = [
            ExtractedStatement(id=each["id"], statement=each["statement"], passage_ids=each["passage_ids"])
            for each in found
        ]
        dropped = len(answer.record.useful_information) - len(found)
        emit(runtime, Extracted(query=entry["query"], statements=statements, dropped=dropped))
    cited = {key for draft in drafts for key in draft["passage_ids"]}
    long = sum(len(passages[each["passage_id"]]["text"]) for each in shown) > LONG_SPLIT
    uncited, excluded = await in_thread_if(long, add_uncited, state["uncited"], shown, cited, passages)
    return {"drafts": drafts, "uncited": uncited, "excluded": excluded, "calls": calls_of(answers)}


def _statements(
    extraction: Extraction, excerpts: Sequence[Excerpt], passages: Mapping[str, Passage], prefix: str
) -> list[Evidence]:
    found: list[Evidence] = []
    for number, useful in enumerate(extraction.useful_information, start=1):
        statement = clean(useful.info).strip()
        in_range = [index for index in useful.support_passages if 1 <= index <= len(excerpts)]
        cited = list(dict.fromkeys(excerpts[index - 1]["passage_id"] for index in in_range))
        if not statement or not cited:
            continue
        evidence = Evidence(id=f"{prefix}.{number}", statement=statement, passage_ids=cited, quote="", verified=False)
        found.append(quoted(evidence, passages))
    return found
