"""The settings that a command line gives a method."""

from collections.abc import Sequence

from hopgraph.state import SettingsError
from hopgraph.state.context import ContextT
from hopgraph.state.environment import parse_setting, settings_from
from hopgraph.tools.retrieval.resolve import corpus_spec


def settings_for(
    cls: type[ContextT],
    assignments: Sequence[str] | None = None,
    *,
    preset: str | None = None,
    model: str | None = None,
    corpus: str | None = None,
    use_method: str | None = None,
) -> ContextT:
    """Return a method's settings: options and the last assignments override preset, environment and defaults."""
    texts = dict(map(split_assignment, assignments or ()))
    values: dict[str, object] = {name: parse_setting(cls, name, text) for name, text in texts.items()}
    retriever = corpus_spec(corpus) if corpus is not None else None
    given = {"model": ("--model", model), "retriever": ("--corpus", retriever), "use_method": ("--method", use_method)}
    for name, (option, value) in given.items():
        if value is not None and name in values:
            raise SettingsError(f"{name!r} is set by both {option} and --set; use one")
        if value is not None:
            values[name] = value
    return settings_from(cls, values, preset)


def split_assignment(assignment: str) -> tuple[str, str]:
    """Split `key=value`; SettingsError for anything else."""
    name, equals, text = assignment.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name:
        raise SettingsError(f"--set {assignment!r:.80}: write it as key=value, e.g. --set max_iterations=3")
    return name, text.strip()
