"""Use the passages that the caller supplies instead of a retriever's."""

from collections import Counter

from langgraph.runtime import Runtime
from pydantic import TypeAdapter, ValidationError

from hopgraph.nodes.core.excerpts import whole_excerpt
from hopgraph.nodes.core.step_events import emit
from hopgraph.state import Knowledge, Passage, SettingsError, Update
from hopgraph.state.baselines import GivenPassage, GoldInput, GoldPassagesContext
from hopgraph.state.errors import format_error
from hopgraph.state.events import GoldGiven
from hopgraph.tools.prompts import clean

GIVEN_SOURCE = "given"
_GIVEN = TypeAdapter(list[GivenPassage])


async def use_gold_passages(state: GoldInput, runtime: Runtime[GoldPassagesContext]) -> Update:
    """Turn the supplied passages, from the input or else the setting, into knowledge, whole and in order.

    Empties `gold_passages`, so that the next question of a conversation is not answered from them. A SettingsError says
    that none are given, or which entry cannot be used. Writes `passages`, `knowledge` and `gold_passages`.
    """
    given = check_given(state.get("gold_passages") or runtime.context.gold_passages)
    passages = [_passage(number, each) for number, each in enumerate(given, start=1)]
    for key, count in Counter(passage["id"] for passage in passages).items():
        if count > 1:
            raise SettingsError(f"gold_passages: two have the id {key!r:.80}; ids must differ")
    excerpts = [whole_excerpt(passage, passage["score"]) for passage in passages]
    event = GoldGiven(
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
    """Validate external input: a SettingsError for anything but a non-empty list of entries with a text."""
    try:
        found = _GIVEN.validate_python(given)
    except ValidationError as error:
        place = (str(part + 1 if isinstance(part, int) else part) for part in error.errors()[0]["loc"])
        raise SettingsError(
            f"{format_error(error, ' '.join(['gold_passages', *place]), got=True)}; "
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
