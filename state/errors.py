"""Every error that hopgraph raises on purpose.

HopgraphError
├── SettingsError      an unknown setting, a value out of range, or an unusable folder
│   ├── SpecError      a model, retriever, reranker or entailment spec that cannot be resolved
│   └── QuestionError  an empty or over-long question
├── PromptError        a prompt file with a missing or unknown variable, or unreadable demonstrations
├── CorpusError        a corpus, index or data-set file that is missing, damaged or of another version
│   └── BadRecordError one record of a source file, named by file and line
├── ModelError         a model call that failed for good: no key, unreachable, refused by the server
│   └── ModelOutageError   … that may succeed later; CorpusOutageError is its counterpart for a corpus on the web
└── RunError           an evaluation run that was stopped, or whose directory is damaged, in use, or has other settings

They are also ValueErrors or RuntimeErrors: the LangGraph server shows a client only the messages of Python's
built-in errors and hides all others. Outages are also ConnectionErrors: LangGraph's `RetryPolicy()` only retries those.

Each message is one line that says what went wrong, with which value, and what to do.
No message ever contains a key: text from a server passes through
`hopgraph.tools.io.redact` first.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal

from pydantic import ValidationError

from hopgraph.state.renamed import RENAMED

FailureKind = Literal["outage", "refusal", ""]
"""How a server failed: the same request may succeed later (server down, overloaded, unreadable reply), or it refuses
every request (key, account, model name); empty for anything else."""


def format_error(error: Exception, place: str | None = None, *, whole: str = "", got: bool = False) -> str:
    """Describe an error in one line; a validation error by its first problem and its location.

    For an OSError, only the reason is given. `place`: the location of the problem, if not the path in the value;
    `whole`: a name for the whole value; `got`: whether to show the offending value.
    """
    if not isinstance(error, ValidationError):
        return (isinstance(error, OSError) and error.strerror) or " ".join(str(error).split())
    first = error.errors(include_url=False)[0]
    path = ".".join(part for part in map(str, first["loc"]) if "[" not in part)  # without pydantic's type names
    where = (path if place is None else place) or whole
    problem = " ".join(first["msg"].removeprefix("Value error, ").split())
    shown = f", got {first['input']!r:.80}" if got and first["type"] not in {"missing", "json_invalid"} else ""
    return f"{where:.200}: {problem}{shown}" if where else f"{problem}{shown}"


def misspelling_of(name: str, known: Iterable[str]) -> str:
    """Return the known name that a name is, or is a misspelling of; empty for none."""
    return next(iter(get_close_matches(name, [*known], n=1, cutoff=0.85)), "")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message on an unknown name: a suggestion, else all valid names."""
    names = list(known)
    if (renamed := RENAMED.get(name.lower())) in names:
        return f"; it is now called {renamed!r}"
    close = get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; available: {', '.join(names)}"


class HopgraphError(Exception):
    """The root of the tree; catch it to catch everything that hopgraph raises on purpose."""

    def __init__(self, message: str = "", trouble: FailureKind = "") -> None:
        """Store the message, and how the server failed if that is the cause."""
        super().__init__(message)
        self.trouble: FailureKind = trouble


class SettingsError(HopgraphError, ValueError):
    """A setting has an unknown name or a value out of range."""


class SpecError(SettingsError):
    """A spec such as `bm25:PATH` or `openai:MODEL` that cannot be resolved."""


class QuestionError(SettingsError):
    """A question that is empty, blank or longer than the limit."""


class PromptError(HopgraphError, ValueError):
    """A prompt file or a demonstrations file that cannot be used."""


class CorpusError(HopgraphError, RuntimeError):
    """A corpus, an index or a data-set file that is missing, damaged or of another version."""


class BadRecordError(CorpusError):
    """One record of a source file that cannot be read; the message names file and line."""


class ModelError(HopgraphError, RuntimeError):
    """A model call that failed for good."""


class CorpusOutageError(CorpusError, ConnectionError):
    """A corpus on the web whose server is down, overloaded or unreadable."""


class ModelOutageError(ModelError, ConnectionError):
    """A model call whose server is down, overloaded or unreadable."""


_OUTAGES: dict[type[HopgraphError], type[HopgraphError]] = {
    ModelError: ModelOutageError,
    CorpusError: CorpusOutageError,
}


def server_error(kind: type[HopgraphError], message: str, trouble: FailureKind) -> HopgraphError:
    """Return the error for a failed server: `kind`, or its outage subclass."""
    return (_OUTAGES.get(kind, kind) if trouble == "outage" else kind)(message, trouble)


class RunError(HopgraphError, RuntimeError):
    """An evaluation run that cannot be read, started, resumed or finished."""
