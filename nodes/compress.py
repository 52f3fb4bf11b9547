"""Let the model cut passages down to a summary or a snippet, in place of the sentence filter."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.ask import Answered, Ask, ask_all, calls_of
from hopgraph.nodes.events import emit
from hopgraph.nodes.knowledge import by_id, shown
from hopgraph.nodes.replies import ReplyModel
from hopgraph.state import Excerpt, Knowledge, Passage, Spent
from hopgraph.state.knowledge import KnowledgeContext


class Compressed(ReplyModel):
    """A reply of the roles `summarise` and `snippet`."""

    text: str


class CompressState(Spent):
    """What `compress` reads."""

    knowledge: list[Knowledge]
    passages: list[Passage]


async def compress(state: CompressState, runtime: Runtime[KnowledgeContext]) -> Mapping[str, Any]:
    """Ask once per kept passage for what matters to its query (SUMM and SNIPPET of MIGRES, Table 5).

    Rewrites `knowledge`: an excerpt's text becomes the model's; a passage that the model calls irrelevant,
    or whose reply could not be used, is dropped. All passages of all queries are asked about side by side.
    """
    step = "summarise" if runtime.context.compression == "summary" else "snippet"
    passages = by_id(state["passages"])
    places = [(entry["query"], excerpt) for entry in state["knowledge"] for excerpt in entry["excerpts"]]
    answers = await ask_all(
        runtime,
        state,
        [
            Ask(
                step,
                {"passages": shown([excerpt], passages), "question": query},
                Compressed,
                Compressed(text="irrelevant"),
            )
            for query, excerpt in places
        ],
        keep=3,  # an extraction, a decision and a final answer
    )
    written = iter(answers)
    knowledge = [
        Knowledge(
            query=entry["query"],
            excerpts=[rewritten for each in entry["excerpts"] if (rewritten := _rewritten(each, next(written)))],
        )
        for entry in state["knowledge"]
    ]
    for before, after in zip(state["knowledge"], knowledge, strict=True):
        emit(
            runtime,
            "compressed",
            query=after["query"],
            how=step,
            passages_in=len(before["excerpts"]),
            kept=[{"passage_id": each["passage_id"], "text": each["text"]} for each in after["excerpts"]],
        )
    return {"knowledge": knowledge, "calls": calls_of(answers)}


def _rewritten(excerpt: Excerpt, answer: Answered[Compressed]) -> Excerpt | None:
    text = answer.record.text.strip()
    if text.casefold().rstrip(".") in {"", "irrelevant"}:
        return None
    return Excerpt(passage_id=excerpt["passage_id"], spans=[], text=text, score=excerpt["score"])
