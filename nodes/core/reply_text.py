"""Read what models write: records, answers, lists of numbers, "I don't know", own knowledge."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hopgraph.state import Passage
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.prompts import clean
from hopgraph.tools.text import DEFAULT_ANALYZER, split_sentences

MODEL_SOURCE = "model"
"""The source of a passage that the model recalled."""


_GIVEN = r"(?:information|evidence|data|context|details?|passages?|texts?)"
_FOUND = r"(?:answer|determine|infer|identif|deduc|establish|find|found|tell|told|say|said|know)\w*"
_UNKNOWN = r"(?:unknown|unclear|undetermined|unspecified|n/a)"
_ABSTAINS = re.compile(
    rf"""\W*(?:
    (?: (?:[Tt]here[ ]is[ ])?(?:no|No)[ ]?answer | (?i:
        unanswerable
      | (?:(?:the|this)[ ])? (?:(?:answer|question|it)[ ])? (?:is|was)?[ ]?
        not[ ](?:answerable|applicable|available|clear|given|known|mentioned|provided|specified|stated)
      | (?:there(?:[ ](?:is|are)|\W?s)[ ])? (?:not[ ]enough|insufficient|no(?:[ ]relevant)?)[ ]{_GIVEN}
        (?:[ ](?:is[ ])?(?:available|found|given|provided))?
      | (?:it[ ]|(?:the|this)[ ](?:answer|question)[ ])? (?:can[ ]?not|can\W?t|could[ ]not|couldn\W?t)[ ]be[ ]{_FOUND}
      | (?:i[ ])? (?:can[ ]?not|can\W?t|am[ ]unable[ ]to|unable[ ]to)[ ]{_FOUND}
      | (?:it[ ]is[ ])? (?:impossible|not[ ]possible)[ ]to[ ]{_FOUND}
      | (?:i[ ])? (?:do[ ]not|don\W?t)[ ]know
      )) (?: \W*\Z | \s*[^\w\s(]
        | \s+(?:about|as|at|based|because|by|for|from|given|here|how|in|on|since|that|to
          |what|when|where|whether|which|who)\b)
    | (?i: (?:the|these)[ ] (?:(?:given|provided)[ ])? {_GIVEN}[ ] (?:(?:given|provided)[ ])?
        (?: (?:do|does|did)(?:[ ]not|n\W?t)\b | contains?[ ]no\b | (?:is|are)[ ](?:not[ ]enough|insufficient)\b )
      | (?:(?:the[ ]answer|it)[ ]is[ ])? {_UNKNOWN} (?: \W*\Z | [.;:]\s | [ ](?:based[ ]on|from|given|in)[ ]th) )
    )""",
    re.VERBOSE,
)
"""An answer that says that there is none, but not one that only begins like that, e.g. "Not Given Lightly".

In a sentence, such words are followed by lower case; in a name they are not.
"""
_KNOWS_NOTHING = re.compile(
    r"""(?:(?:sorry|unfortunately|as[ ]an[ ]ai\b[^,]{0,40})\W+)?
    (?: i[ ] (?: (?:do[ ]not|don\W?t)[ ](?:know|have|recall) | have[ ]no\b | (?:can[ ]?not|can\W?t)\b )
      | i(?:[ ]am|\W?m)[ ] (?:not[ ](?:sure|aware|certain|familiar)|sorry|unable)
      | unknown\W*\Z | sorry\W*\Z | \W*\Z | please\b | if[ ]you[ ] | (?:can|could)[ ]you[ ] )""",
    re.IGNORECASE | re.VERBOSE,
)
_TURN = re.compile(r"\b(?:but|however|though|although)\b", re.IGNORECASE)
"""The point where a sentence turns from what is not known to what is known."""


def _short(text: str) -> str:
    if len(text) > MAX_TEXT_CHARACTERS:
        raise ValueError(f"at most {MAX_TEXT_CHARACTERS:,} characters, got {len(text):,}")
    return text


def schema_hint(**limit: int) -> Any:
    """Return a `maxLength` or `maxItems` for the schema sent to servers; pydantic also accepts longer values."""
    return Field(json_schema_extra={**limit})


ShortText = Annotated[str, AfterValidator(_short), schema_hint(maxLength=1000)]
"""A question or an answer; texts longer than `MAX_TEXT_CHARACTERS` are refused."""
LongText = Annotated[str, AfterValidator(lambda text: text[:MAX_TEXT_CHARACTERS]), schema_hint(maxLength=2000)]
"""An explanation, a statement or a passage; truncated to `MAX_TEXT_CHARACTERS`."""


class ReplyModel(BaseModel):
    """A record written by a model: a number may replace a string, and `null` an optional field."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        fields = cast("Mapping[str, object]", value)
        return {name: entry for name, entry in fields.items() if entry is not None}


def short_answer(text: str, *, yes_no: bool = False) -> str:
    """Clean an answer: one line, with `yes_no` only "yes" or "no"; empty for one that `abstains` or is too long."""
    answer = " ".join(clean(text).split())
    if abstains(answer) or len(answer) > MAX_TEXT_CHARACTERS:
        return ""
    if yes_no:
        found = re.match(r"\W*(yes|no|true|false)\b", answer, re.IGNORECASE)
        return {"yes": "yes", "true": "yes", "no": "no", "false": "no"}[found[1].lower()] if found else ""
    return answer


def abstains(answer: str) -> bool:
    """Return whether a one-line answer says, in any wording, that the question cannot be answered."""
    return _ABSTAINS.match(answer) is not None


def normalized_query(query: str) -> str:
    """Return a query's words without case and accents, for comparison; "" if it has only punctuation.

    Signs that are part of a name or number are kept: C++ is not C#, and 1.5 not 15.
    """
    return " ".join(DEFAULT_ANALYZER.words(query.casefold()))


def is_dont_know(text: str) -> bool:
    """Return whether a whole reply says that the model does not know; "I don't know who, but in Rome" does not."""
    whole = text.strip()
    said = [part for start, end in split_sentences(whole) for part in _TURN.split(whole[start:end])]
    return all(_KNOWS_NOTHING.match(part.strip(" ,")) or abstains(part.strip(" ,")) for part in said)


def knowledge_passage(number: str, text: str, *, title: str = "Model knowledge", hop: int = 1) -> Passage:
    """Return the model's own knowledge as a passage, which is cited as such and never ranked."""
    return Passage(id=f"model:{number}", title=title, text=text, score=0.0, source=MODEL_SOURCE, hop=hop)


def read_numbers(value: object) -> object:
    """Parse passage numbers as models write them: 3, "3", "[3]", "Passage 3", or a list; leave anything else."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return [int(value)] if isfinite(value) else []
    if isinstance(value, str):
        return [int(digits) for digits in re.findall(r"\d{1,9}", value)]
    if isinstance(value, list):
        entries = [read_numbers(entry) for entry in cast("list[object]", value)]
        return [number for entry in entries if isinstance(entry, list) for number in cast("list[int]", entry)]
    return value


ShownNumbers = Annotated[list[int], BeforeValidator(read_numbers), schema_hint(maxItems=20)]
"""Numbers, from 1, of items shown in a prompt."""


def read_name(value: object) -> object:
    """Return one of a field's names as spelled in its schema, ignoring case and spaces."""
    return value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else value


def read_list(value: object) -> object:
    """Wrap a string or an object in a list where a list is expected."""
    return [cast("object", value)] if isinstance(value, str | dict) else value
