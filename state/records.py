"""The records that travel in the state: plain JSON data, so that they survive checkpoints and editors."""

from typing import Literal, NotRequired

from pydantic import JsonValue
from typing_extensions import TypedDict

StopReason = Literal["answered", "unanswerable", "max_iterations", "max_depth", "budget"]
"""Why a run ended. `unanswerable`: it ran to its end and found no answer."""


UNANSWERABLE = "unanswerable"
"""The answer when none can be given."""


class Passage(TypedDict):
    """A titled paragraph of the corpus, or a text that the model recalled."""

    id: str
    """Unique in its corpus; begins with `model:` for recalled knowledge."""
    title: str
    """May be empty."""
    text: str
    """The paragraph as it is in the corpus, without the title."""
    score: float
    """The retriever's best score in the hop that found it first; higher is better, not comparable across retrievers."""
    source: str
    """The document's `source`, else the retriever's class; `model` or `reviewer` for texts that they wrote."""
    hop: int
    """The iteration that retrieved it first, from 1."""
    metadata: NotRequired[dict[str, JsonValue]]
    """Other fields of the document, such as `source`, `page`, `section` and `url`; absent if there are none."""


class Query(TypedDict):
    """A text sent to a retriever."""

    text: str
    why: str
    """The missing information that it looks for; empty for the question itself."""


class Candidates(TypedDict):
    """Passages found for one query in this iteration, best first; a second retriever's follow the first's."""

    query: str
    passage_ids: list[str]
    scores: list[float]
    """One per passage, in the same order."""


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
    """`hop.query.number`, all from 1, so that ids sort in the order of the run; in a tree, the id of
    the node where it was found."""
    statement: str
    passage_ids: list[str]
    """In the order in which the model cited them; never empty."""
    quote: str
    """The sentence of its first cited passage that best supports it, as in `Citation`."""
    verified: bool
    """True if the entailment check passed; False while it is pending or disabled."""


class Draft(TypedDict):
    """A reader's answer to a question, or one of several to choose from."""

    reasoning: str
    answer: str
    """Cleaned, on one line; empty if the question could not be answered."""
    evidence: list[Evidence]
    """One statement, the reasoning or the answer, with the shown passages that support it; empty if there is none."""


class SourceLocation(TypedDict, total=False):
    """Location of a passage in its source; unknown fields are absent."""

    source: str
    """The file as named in the corpus, or the address."""
    page: int | str
    """From 1, or as printed on the page."""
    section: str
    """The path of headings above it, such as `Employment > Vacation`."""
    url: str
    """Begins with http:// or https://."""


class Citation(SourceLocation):
    """A passage that supports the answer, with its best-supporting sentence."""

    passage_id: str
    title: str
    quote: str
    """Occurs verbatim in the passage's text; for a table row, below the column names."""
    start: int
    """Character offset of the quote (for a table row, of the row itself) in the passage's text."""
    end: int
    kind: Literal["passage", "model", "reviewer"]
    """`model`: the model's own knowledge; `reviewer`: a statement by the person who reviewed the evidence; neither is
    supported by a passage of the corpus."""


class Call(TypedDict):
    """One model call or retrieval, as counted by the budget and the totals."""

    kind: Literal["model", "retrieval", "pause"]
    """`pause`: waiting for a person, which is not charged to the budget."""
    role: str
    """The model's role, such as `migres/decide`; for a retrieval the retriever's class name."""
    attempts: int
    """Requests: 1 + retries after unusable replies. Replies from the cache count, so that a replayed run
    stays within its budget in the same way."""
    cached: int
    """How many of them the cache answered, at no cost."""
    prompt_tokens: int
    completion_tokens: int
    parse_failures: int
    """Replies that could not be used."""
    passages: int
    """Passages shown in the prompt, or found for the query, over all retrievers."""
    knowledge_tokens: int
    """Tokens of the passages shown, estimated without a vocabulary (`count_tokens`)."""
    paused: NotRequired[list[float]]
    """Start and end of a pause, in seconds since the epoch."""


def empty_call(kind: Literal["model", "retrieval", "pause"], role: str) -> Call:
    """Return the record of a call with every count at 0."""
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
    """How many of `llm_calls` the cache answered, at no cost."""
    prompt_tokens: int
    completion_tokens: int
    retrievals: int
    """Searches; with two retrievers each query counts twice."""
    passages: int
    """Passages shown to the model, counting repeats each time."""
    knowledge_tokens: int
    """Tokens of the passages shown (offline counter): the measure of MIGRES, Table 5."""
    parse_failures: int
    iterations: int


def has_no_usable_reply(usage: Usage) -> bool:
    """Return whether the model was called and none of its replies could be used."""
    return usage["llm_calls"] == usage["parse_failures"] > 0
