"""The method and the settings that a command line names."""

import re
from collections.abc import Sequence
from pathlib import Path

from hopgraph.state import Context, SettingsError
from hopgraph.state.context import ContextT, make_settings
from hopgraph.state.environment import parse_setting, with_environment

_SPEC = re.compile(r"[A-Za-z][\w+-]+:")  # how a spec begins; one letter before the colon would be a drive


def settings_for(
    cls: type[ContextT],
    assignments: Sequence[str] | None = None,
    *,
    preset: str | None = None,
    model: str | None = None,
    corpus: str | None = None,
    use_method: str | None = None,
) -> ContextT:
    """Return a method's settings: the last assignment or the option, over preset, environment and defaults."""
    values = dict(_assigned(cls, assignment) for assignment in assignments or ())
    retriever = corpus_spec(corpus) if corpus is not None else None
    given = {"model": ("--model", model), "retriever": ("--corpus", retriever), "use_method": ("--method", use_method)}
    for name, (option, value) in given.items():
        if value is not None and name in values:
            raise SettingsError(f"setting {name!r} is given twice: by {option} and by --set; leave one out")
        if value is not None:
            values[name] = value
    if unread := sorted(values.keys() & cls.ignored):
        raise SettingsError(f"setting {unread[0]!r} has no effect: the graph of {cls.method} does not read it")
    settings = cls.preset(preset, **values) if preset is not None else make_settings(cls, values)
    return with_environment(settings)


def corpus_spec(given: str) -> str:
    """Turn `--corpus` into a retriever's spec: a folder into `bm25:FOLDER`; a spec stays as it is."""
    if not given.strip():
        raise SettingsError("--corpus is empty; name a folder made by `hopgraph index`, or leave it out for the sample")
    is_spec = (given == "sample" or _SPEC.match(given)) and not Path(given).is_dir()
    return given if is_spec else f"bm25:{given}"


def _assigned(cls: type[Context], assignment: str) -> tuple[str, object]:
    name, equals, text = assignment.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name:
        raise SettingsError(f"--set {assignment!r:.80}: write it as key=value, as in --set max_iterations=3")
    if name in cls.model_fields and not text.strip():
        raise SettingsError(f"setting {name!r}: its value is empty; write {name}=VALUE, or leave it out")
    return name, parse_setting(cls, name, text.strip())
