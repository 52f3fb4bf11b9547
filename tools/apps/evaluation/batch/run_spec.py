"""What a run measures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hopgraph.state import Context
from hopgraph.tools.apps.evaluation.question_sampling import QuestionSample


@dataclass(frozen=True)
class RunSpec:
    """What a run measures."""

    dataset: Path
    methods: Mapping[str, Context]
    """Settings by method; their retriever is set by the run."""
    out: Path
    sample: QuestionSample = field(default_factory=QuestionSample)
    format_name: str | None = None
    corpus: str | None = None
    """A retriever's spec; None for the pooled contexts of the data set."""
    rename: int | None = None
    """The seed with which people, places and works are renamed; None: they are not."""
    add_contexts: bool = False
    """Add the data set's contexts to the corpus: MIGRES's oracle setting."""
    repeats: int = 1
    keep_traces: bool = True
    keep_contexts: bool = False
    """Keep all passages that come with a question in the run, not the gold ones alone."""
