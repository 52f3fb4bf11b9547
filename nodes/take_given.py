"""Take the passages that the caller gives in place of a retriever's."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime
from pydantic import TypeAdapter, ValidationError

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Knowledge, Passage, SettingsError
from hopgraph.state.baselines import GivenPassage, GoldInput, GoldPassagesContext
from hopgraph.state.errors import describe_problem
from hopgraph.state.events import PassagesGiven
from hopgraph.tools.prompts import clean

GIVEN_SOURCE = "given"
"""The source of a passage that the caller gave."""
_GIVEN = TypeAdapter(list[GivenPassage])


async def take_given(state: GoldInput, runtime: Runtime[GoldPassagesContext]) -> Mapping[str, Any]:
    """Turn the given passages into knowledge, whole and in their order.

    They come with the input, else from the setting. Writes `passages` and `knowledge`, and empties
    `gold_passages`, so that the next question of a conversation is not answered from them.

    Raises:
        SettingsError: none are given, or an entry cannot be used, by its number from 1.
    """
    given = check_given(state.get("gold_passages") or runtime.context.gold_passages)
    passages = [_passage(number, each) for number, each in enumerate(given, start=1)]
    for key, count in Counter(passage["id"] for passage in passages).items():
        if count > 1:
            raise SettingsError(f"gold_passages: two have the id {key!r:.80}; ids must differ")
    excerpts = [whole_excerpt(passage, passage["score"]) for passage in passages]
    event = PassagesGiven(
        query=state["question"],
        passage_ids=[passage["id"] for passage in passages],
        titles=[passage["title"] for passage in passages],
    )
    emit(runtime, event)
    return {
        "passages": passages,
        "knowledge": [Knowledge(query=state["question"], excerpts=excerpts)],
        "gold_passages": [],
    }


def check_given(given: object) -> list[GivenPassage]:
    """Check what came from outside.

    Raises:
        SettingsError: no list, an empty one, or an entry without a text.
    """
    try:
        found = _GIVEN.validate_python(given)
    except ValidationError as error:
        place = (str(part + 1 if isinstance(part, int) else part) for part in error.errors()[0]["loc"])
        raise SettingsError(
            f"{describe_problem(error, ' '.join(['gold_passages', *place]), got=True)}; "
            'give a list such as [{"title": "…", "text": "…"}]'
        ) from None
    if not found:
        raise SettingsError(
            "no gold passages are given: add them to the input along with the question, as "
            '"gold_passages": [{"title": "…", "text": "…"}], or set gold_passages to such a list'
        )
    for number, each in enumerate(found, start=1):
        if not clean(each["text"]).strip():
            raise SettingsError(f"gold_passages {number} has no text; leave it out")
    return found


def _passage(number: int, given: GivenPassage) -> Passage:
    return Passage(
        id=given.get("id") or f"given:{number}",
        title=clean(given.get("title", "")),
        text=clean(given["text"]),
        score=1.0 / number,
        source=GIVEN_SOURCE,
        hop=1,
    )
