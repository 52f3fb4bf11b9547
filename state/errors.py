"""Every error that hopgraph raises on purpose.

HopgraphError
├── SettingsError      a setting has an unknown name or a value out of range, or names a folder of no use
│   ├── SpecError      a model, retriever, reranker or entailment spec that cannot be resolved
│   └── QuestionError  an empty or over-long question
├── PromptError        a prompt file with a missing or unknown variable, or unreadable demonstrations
├── CorpusError        a corpus, index or data-set file that is missing, damaged or of another version
│   └── BadRecordError one record of a source file, named by file and line
├── ModelError         a model call that failed for good: no key, unreachable, refused by the server
└── RunError           an evaluation run whose directory is damaged, in use, or was begun with other settings

They are also ValueErrors or RuntimeErrors: the LangGraph server shows a client only the messages of Python's
own errors and hides all others.

Each message is one line that says what went wrong, with which value, and what to do.
No message ever holds a key: text that comes from a server passes through
`hopgraph.tools.io.redact` first.
"""


class HopgraphError(Exception):
    """The root of the tree; catch it to catch everything that hopgraph raises on purpose."""


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


class RunError(HopgraphError, RuntimeError):
    """An evaluation run that cannot be read, begun or resumed."""
