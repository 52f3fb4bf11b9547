"""The records that travel in the state: plain JSON data, so that they survive checkpoints and editors."""

from typing import Literal, NotRequired

from pydantic import JsonValue
from typing_extensions import TypedDict

StopReason = Literal["answered", "unanswerable", "max_iterations", "max_depth", "budget"]
"""Why a run ended. `unanswerable`: it ran to its end and found no answer."""


UNANSWERABLE = "unanswerable"
"""The answer where none can be given."""


class Passage(TypedDict):
    """A titled paragraph of the corpus, or a text that the model recalled."""

    id: str
    """Unique in its corpus; it begins with `model:` for recalled knowledge."""
    title: str
    """May be empty."""
    text: str
    """The paragraph as the corpus has it, without the title."""
    score: float
    """The retriever's best score in the hop that found it first; higher is better, not comparable across retrievers."""
    source: str
    """The document's `source`, else the retriever's class; `model` or `reviewer` for what they wrote."""
    hop: int
    """The iteration that retrieved it first, from 1."""
    metadata: NotRequired[dict[str, JsonValue]]
    """Other fields of the document, such as `source`, `page`, `section` and `url`; absent if there are none."""


class Query(TypedDict):
    """A text that goes to a retriever."""

    text: str
    why: str
    """The missing information that it asks for; empty for the question itself."""


class Candidates(TypedDict):
    """Passages found for one query in this iteration, best first; a second retriever's follow the first's."""

    query: str
    passage_ids: list[str]
    scores: list[float]
    """One per passage, in their order."""


class Excerpt(TypedDict):
    """The part of a passage that is shown to the model."""

    passage_id: str
    spans: list[list[int]]
    """[start, end) character offsets into the passage's text, ascending; empty when `text` is set."""
    text: str
    """A summary or snippet written by the model in place of the spans; empty otherwise."""
    score: float
    """The reranker's score of the passage."""


class Knowledge(TypedDict):
    """Excerpts shown to the model for one query, best first."""

    query: str
    excerpts: list[Excerpt]


class Evidence(TypedDict):
    """A statement with the passages that support it."""

    id: str
    """`hop.query.number`, all from 1, so that the order of ids is the order of the run; in a tree the id of
    the node that it was found at."""
    statement: str
    passage_ids: list[str]
    """In the order in which the model cited them; never empty."""
    quote: str
    """The sentence of its first cited passage that best supports it, as `Citation` has it."""
    verified: bool
    """True when the entailment check passed; False while it is pending or is switched off."""


class Draft(TypedDict):
    """A reader's answer to a question, or one of several to choose from."""

    reasoning: str
    answer: str
    """Cleaned, on one line; empty when the question could not be answered."""
    evidence: list[Evidence]
    """One statement, the reasoning or the answer, with the shown passages that it rests on; empty without."""


class SourceLocation(TypedDict, total=False):
    """Location of a passage in its source; unknown fields are absent."""

    source: str
    """The file, as the corpus names it, or the address."""
    page: int | str
    """From 1, or as it is printed on the page."""
    section: str
    """The headings that it stands under, such as `Employment > Vacation`."""
    url: str
    """Begins with http:// or https://."""


class Citation(SourceLocation):
    """A passage that the answer rests on, with its best-supporting sentence."""

    passage_id: str
    title: str
    quote: str
    """Occurs verbatim in the passage's text; of a row of a table, below the names of its columns."""
    start: int
    """Character offset of the quote, of a row itself, in the passage's text."""
    end: int
    kind: Literal["passage", "model", "reviewer"]
    """`model`: the model's own knowledge, `reviewer`: a statement of the person who reviewed the evidence; no
    passage of the corpus supports either."""


class Call(TypedDict):
    """One model call or one retrieval, as the budget and the totals count it."""

    kind: Literal["model", "retrieval", "pause"]
    """`pause`: a wait for a person, which is not charged to the budget."""
    role: str
    """The model's role, such as `migres/decide`; for a retrieval the retriever's class name."""
    attempts: int
    """Requests: 1 + re-asks after unusable replies. Those that the cache answered count, so that a run that is
    replayed obeys its budget in the same way."""
    cached: int
    """Number of them answered by the cache, without cost."""
    prompt_tokens: int
    completion_tokens: int
    parse_failures: int
    """Replies that could not be used."""
    passages: int
    """Passages shown in the prompt, or found for the query, by all retrievers together."""
    knowledge_tokens: int
    """Tokens of the passages shown, estimated without a vocabulary (`count_tokens`)."""
    paused: NotRequired[list[float]]
    """Start and end of a pause, in seconds since the epoch."""


def empty_call(kind: Literal["model", "retrieval", "pause"], role: str) -> Call:
    """Make the record of a call with every count at 0."""
    return Call(
        kind=kind,
        role=role,
        attempts=0,
        cached=0,
        prompt_tokens=0,
        completion_tokens=0,
        parse_failures=0,
        passages=0,
        knowledge_tokens=0,
    )


class Usage(TypedDict):
    """The totals of a run."""

    llm_calls: int
    cached_calls: int
    """Number of `llm_calls` answered by the cache, without cost."""
    prompt_tokens: int
    completion_tokens: int
    retrievals: int
    """Searches; with two retrievers each query counts twice."""
    passages: int
    """Passages shown to the model, repeated ones counted each time."""
    knowledge_tokens: int
    """Tokens of the passages shown (offline counter): the measure of MIGRES, Table 5."""
    parse_failures: int
    iterations: int


def has_no_usable_reply(usage: Usage) -> bool:
    """Return whether a model was asked, and none of its replies could be used."""
    return usage["llm_calls"] == usage["parse_failures"] > 0
