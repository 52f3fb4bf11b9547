"""Demonstrations: the worked examples of a step, one JSON object on each line.

    {"input": {"question": "…", "passages": [{"title": "…", "text": "…"}]}, "output": {"text": "…"}}

`input` holds the variables that the step's prompt shows, `output` the reply that the model should give.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard, cast

from pydantic import JsonValue

from hopgraph.state import PromptError, SettingsError
from hopgraph.tools.prompts.delimit import Value
from hopgraph.tools.prompts.prompt_files import (
    FAMILIES,
    PromptFile,
    check_file_name,
    find_file,
    list_built_in_steps,
    read_prompt,
    read_text,
)


@dataclass(frozen=True)
class Demonstration:
    """A worked example of one step."""

    input: Mapping[str, Value]
    output: Mapping[str, JsonValue]
    """The reply, as the model should write it."""


def read_demonstrations(
    role: str, demonstrations: str | None, folders: Collection[str] = ()
) -> tuple[Demonstration, ...]:
    """Read the worked examples of a role `method/step`, in the order of the file; empty where the role has none.

    Args:
        role: the role.
        demonstrations: a family, whose files `STEP.FAMILY.jsonl` are found as prompts are; else a folder
            with `STEP.jsonl` files; None for no examples.
        folders: whose files replace the built-in ones of a family.

    Raises:
        SettingsError: `demonstrations` is neither a family nor a folder.
        PromptError: a file that is not UTF-8, or a record that does not fit the step, by file and line.
    """
    if demonstrations is None:
        return ()
    if demonstrations in FAMILIES:
        path = find_file(role, f".{demonstrations}.jsonl", folders)
    else:
        own = _folder(demonstrations) / f"{role.split('/', 1)[1]}.jsonl"
        path = own if own.is_file() else None
    if path is None:
        return ()
    # The prompt says which variables a step shows; an edited one may have moved those of a built-in step.
    prompt = read_prompt(role, () if find_file(role, ".md") else folders)
    return _parsed(path, path.stat().st_mtime_ns, prompt)


def check_demonstrations(
    method: str, steps: Collection[str], demonstrations: str | None, folders: Collection[str] = ()
) -> None:
    """Check the worked examples of all steps of a method before the first model call.

    A family may lack examples for some steps, or for all steps of a method. A folder must have some for this
    method, and nothing that no step reads.

    Without `steps`, all that have a built-in prompt are checked; the other arguments are the settings.

    Raises:
        SettingsError: neither a family nor a folder; a folder without a file for this method, or with a file
            that is named after no step.
        PromptError: a file that is not UTF-8, or a record that does not fit its step, by file and line.
    """
    if demonstrations is None:
        return
    own = frozenset(steps) or list_built_in_steps(method)
    if demonstrations not in FAMILIES:
        _check_names(_folder(demonstrations), method, own)
    for step in sorted(own):
        read_demonstrations(f"{method}/{step}", demonstrations, folders)


def _folder(demonstrations: str) -> Path:
    folder = Path(demonstrations)
    if not folder.is_dir():
        raise SettingsError(f"demonstrations {demonstrations!r}: neither one of {', '.join(FAMILIES)} nor a folder")
    return folder


def _check_names(folder: Path, method: str, own: Collection[str]) -> None:
    found = sorted(folder.glob("*.jsonl"))
    known = list_built_in_steps(method) | set(own)
    for path in found:
        step, _, family = path.stem.partition(".")
        if family in FAMILIES and step in known:
            raise SettingsError(
                f"{path}: here a file is called {step}.jsonl; files of a family are used with "
                f"demonstrations={family}, and edited ones by prompts_dir=DIR with DIR/{method}/{path.name}"
            )
        check_file_name(path, {f"{each}.jsonl" for each in known})
    if not any(path.stem in own for path in found):
        names = ", ".join(f"{step}.jsonl" for step in sorted(own))
        raise SettingsError(f"demonstrations {str(folder)!r}: the folder has no file for {method}; it reads {names}")


@lru_cache(maxsize=512)
def _parsed(path: Path, _modified: int, prompt: PromptFile) -> tuple[Demonstration, ...]:
    found: list[Demonstration] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append(_demonstration(cast("object", json.loads(line)), prompt))
        except json.JSONDecodeError as error:
            raise PromptError(f"{path}:{number}: not JSON: {error.msg} at character {error.pos + 1}") from None
        except (ValueError, RecursionError) as error:  # what does not fit, a huge number, a deep nesting
            raise PromptError(f"{path}:{number}: {error}") from None
    return tuple(found)


def _demonstration(record: object, prompt: PromptFile) -> Demonstration:
    if not _is_object(record) or not {"input", "output"} <= record.keys():
        raise ValueError("expected an object with 'input' and 'output'")
    given, output = record["input"], record["output"]
    if not _is_object(given):
        raise ValueError(f"'input' must be an object of variables, got {given!r:.60}")
    if not _is_object(output):
        raise ValueError(f"'output' must be an object, the reply, got {output!r:.60}")
    unfit = (given.keys() - prompt.variables) | (prompt.shown() - prompt.optional - given.keys())
    if unfit:
        name, allowed = min(unfit), ", ".join(sorted(prompt.shown()))
        problem = "unknown" if name in given else "missing"
        raise ValueError(f"variable {name!r} is {problem}; this step shows: {allowed}")
    for name, value in given.items():
        if wanted := _expected_kind(name, value, prompt):
            raise ValueError(f"variable {name!r} must be {wanted}, got {value!r:.60}")
    return Demonstration(cast("Mapping[str, Value]", given), cast("Mapping[str, JsonValue]", output))


def _expected_kind(name: str, value: object, prompt: PromptFile) -> str:
    """Return what a variable must be; empty when it is."""
    if name not in prompt.shown():
        return "" if type(value) is int else "a whole number"
    entries = cast("list[object]", value) if isinstance(value, list) else None
    if name == "passages":
        fits = entries is not None and all(map(_is_passage, entries))
        return "" if fits else "a list of passages, each with a 'title' and a 'text'"
    fits = isinstance(value, str) if entries is None else all(isinstance(each, str) for each in entries)
    return "" if fits else "a text or a list of texts"


def _is_passage(entry: object) -> bool:
    return _is_object(entry) and all(isinstance(entry.get(key), str) for key in ("title", "text"))


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
