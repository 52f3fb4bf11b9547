"""Render the messages of a model call from a role, its variables, and demonstrations of its step.

Demonstration files have one JSON object per line:

    {"input": {"question": "…", "passages": [{"title": "…", "text": "…"}]}, "output": {"text": "…"}}

`input` has the variables of the prompt's human message, `output` the expected reply.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import JsonValue

from hopgraph.state import PromptError, SettingsError
from hopgraph.tools.prompts.delimit import Value, clean, format_block
from hopgraph.tools.prompts.prompt_files import (
    ABSTAIN,
    FAMILIES,
    PLACEHOLDER,
    SECTION,
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
    """The expected reply."""


def render(
    role: str,
    variables: Mapping[str, Value],
    *,
    folders: Collection[str] = (),
    text: str = "",
    demonstrations: str | None = None,
    abstain: bool = True,
) -> list[BaseMessage]:
    """Return the messages of a call: system, demonstrations as human and AI pairs, human.

    The system message starts with the role, so that a simulated model can serve any role, also over HTTP and with
    edited prompts. Shown are the demonstrations whose variables differ least from the given ones (e.g. with or without
    passages), without variables that are not given; yes/no demonstrations only if `answer_type` is given. Without
    `abstain`, its sections and demonstrations that abstain are omitted. Raises PromptError for a missing or unknown
    variable, and the errors of `read_prompt` and `read_demonstrations`.
    """
    prompt = read_prompt(role, folders, text)
    may_abstain = ABSTAIN in prompt.optional
    if may_abstain and abstain:
        variables = {**variables, ABSTAIN: ABSTAIN}
    examples: list[BaseMessage] = []
    for example in _select_similar(variables, read_demonstrations(role, demonstrations, folders)):
        if may_abstain and not abstain and _abstains(example):
            continue
        shared = {name: value for name, value in variables.items() if isinstance(value, int)}
        given = {name: value for name, value in example.input.items() if name in variables}
        examples.append(HumanMessage(_fill(prompt, prompt.input, {**shared, **given})))
        examples.append(AIMessage(clean(json.dumps(example.output, ensure_ascii=False))))
    system = f"Role: {role}\n\n{_fill(prompt, prompt.instructions, variables)}"
    return [SystemMessage(system), *examples, HumanMessage(_fill(prompt, prompt.input, variables))]


def _select_similar(variables: Mapping[str, Value], found: Sequence[Demonstration]) -> list[Demonstration]:
    suitable = [each for each in found if "answer_type" in variables or "answer_type" not in each.input]
    differences = [len(each.input.keys() ^ variables.keys()) for each in suitable]
    return [each for each, difference in zip(suitable, differences, strict=True) if difference == min(differences)]


def _abstains(example: Demonstration) -> bool:
    answer = example.output.get("answer")
    return (answer.get("text") if isinstance(answer, dict) else answer) == "unanswerable"


def _fill(prompt: PromptFile, text: str, variables: Mapping[str, Value]) -> str:
    def insert(match: re.Match[str]) -> str:
        return format_block(match[1], variables[match[1]])

    return PLACEHOLDER.sub(insert, _choose_sections(prompt, text, frozenset(variables))).strip()


@lru_cache(maxsize=512)
def _choose_sections(prompt: PromptFile, text: str, given: frozenset[str]) -> str:
    """Keep the sections that apply to the given variables; drop the placeholders of missing optional ones."""
    missing = set(PLACEHOLDER.findall(text)) - prompt.optional - given
    if missing:
        raise PromptError(f"{prompt.source}: variable {min(missing)!r} was not given")
    unknown = given - prompt.variables
    if unknown:
        raise PromptError(f"{prompt.source}: variable {min(unknown)!r} was given, but the prompt does not use it")

    def choose(match: re.Match[str]) -> str:
        return match[3] if (match[2] in given) == (match[1] == "#") else ""

    while (chosen := SECTION.sub(choose, text)) != text:  # sections may be nested
        text = chosen
    for name in prompt.optional - given:
        text = re.sub(rf"\{{\{{{name}\}}\}}\n*", "", text)
    return text


def read_demonstrations(
    role: str, demonstrations: str | None, folders: Collection[str] = ()
) -> tuple[Demonstration, ...]:
    """Return the demonstrations of a role `method/step`, in file order; may be empty.

    `demonstrations` is a family, whose files `STEP.FAMILY.jsonl` are found like prompts, or a folder with `STEP.jsonl`
    files; None for no demonstrations. Raises SettingsError if it is neither, PromptError (with file and line) for a
    file that is not UTF-8, or a record that does not match the step's variables.
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
    # The built-in prompt, if there is one, has the step's variables: an edited one may have moved them.
    prompt = read_prompt(role, () if find_file(role, ".md") else folders)
    return _parsed(path, path.stat().st_mtime_ns, prompt)


def check_demonstrations(
    method: str, steps: Collection[str], demonstrations: str | None, folders: Collection[str] = ()
) -> None:
    """Check the demonstrations of a method's steps, by default of those with a built-in prompt.

    A family may lack demonstrations for any step. A folder must have a file for this method, and no file that is never
    read (SettingsError). Also raises the errors of `read_demonstrations`.
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


def _check_names(folder: Path, method: str, own: frozenset[str]) -> None:
    found = sorted(folder.glob("*.jsonl"))
    known = list_built_in_steps(method) | own
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
        except (ValueError, RecursionError) as error:  # wrong variables, a huge number or deep nesting
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
        if expected := _expected_kind(name, value, prompt):
            raise ValueError(f"variable {name!r} must be {expected}, got {value!r:.60}")
    return Demonstration(cast("Mapping[str, Value]", given), cast("Mapping[str, JsonValue]", output))


def _expected_kind(name: str, value: object, prompt: PromptFile) -> str:
    """Describe the type that a variable must have; empty if it has it."""
    if name not in prompt.shown():
        return "" if type(value) is int else "a whole number"
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    if name == "passages":
        fits = isinstance(value, list) and all(map(_is_passage, entries))
        return "" if fits else "a list of passages, each with a 'title' and a 'text'"
    return "" if all(isinstance(each, str) for each in entries) else "a text or a list of texts"


def _is_passage(entry: object) -> bool:
    return _is_object(entry) and all(isinstance(entry.get(key), str) for key in ("title", "text"))


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
