"""Turn a role and its variables into the messages of a model call, with worked examples (demonstrations) of its step.

Demonstrations are files with one JSON object on each line:

    {"input": {"question": "…", "passages": [{"title": "…", "text": "…"}]}, "output": {"text": "…"}}

`input` holds the variables that the step's prompt shows, `output` the reply that the model should give.
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
    """The reply, as the model should write it."""


def render(
    role: str,
    variables: Mapping[str, Value],
    *,
    folders: Collection[str] = (),
    text: str = "",
    demonstrations: str | None = None,
    abstain: bool = True,
) -> list[BaseMessage]:
    """Make the messages of a call: system, demonstrations as human and AI pairs, human.

    The system message's first line names the role, so that a simulated model can serve any role, also over
    HTTP and under edited prompts. Demonstrations look like the input: those are shown whose variables differ least from
    the given ones (with passages or without), less the variables that are not given; none says yes or no where that is
    not asked for. Without `abstain`, the sections for it are left out, and so are demonstrations that abstain.
    PromptError where a variable is missing or unknown; other errors: those of `read_prompt` and `read_demonstrations`.
    """
    prompt = read_prompt(role, folders, text)
    says = ABSTAIN in prompt.optional
    if says and abstain:
        variables = {**variables, ABSTAIN: ABSTAIN}
    examples: list[BaseMessage] = []
    for example in _most_like(variables, read_demonstrations(role, demonstrations, folders)):
        if says and not abstain and _abstains(example):
            continue
        shared = {name: value for name, value in variables.items() if isinstance(value, int)}
        given = {name: value for name, value in example.input.items() if name in variables}
        examples.append(HumanMessage(_fill(prompt, prompt.input, {**shared, **given})))
        examples.append(AIMessage(clean(json.dumps(example.output, ensure_ascii=False))))
    system = f"Role: {role}\n\n{_fill(prompt, prompt.instructions, variables)}"
    return [SystemMessage(system), *examples, HumanMessage(_fill(prompt, prompt.input, variables))]


def _most_like(variables: Mapping[str, Value], found: Sequence[Demonstration]) -> list[Demonstration]:
    asked = [each for each in found if "answer_type" in variables or "answer_type" not in each.input]
    differences = [len(each.input.keys() ^ variables.keys()) for each in asked]
    return [each for each, difference in zip(asked, differences, strict=True) if difference == min(differences)]


def _abstains(example: Demonstration) -> bool:
    said = example.output.get("answer")
    return (said.get("text") if isinstance(said, dict) else said) == "unanswerable"


def _fill(prompt: PromptFile, text: str, variables: Mapping[str, Value]) -> str:
    def place(match: re.Match[str]) -> str:
        return format_block(match[1], variables[match[1]])

    return PLACEHOLDER.sub(place, _with_sections(prompt, text, frozenset(variables))).strip()


@lru_cache(maxsize=512)
def _with_sections(prompt: PromptFile, text: str, given: frozenset[str]) -> str:
    """Choose the sections of a prompt's text for the variables that are given; the others' places are left out."""
    missing = set(PLACEHOLDER.findall(text)) - prompt.optional - given
    if missing:
        raise PromptError(f"{prompt.source}: variable {min(missing)!r} was not given")
    unknown = given - prompt.variables
    if unknown:
        raise PromptError(f"{prompt.source}: variable {min(unknown)!r} was given, but the prompt does not use it")

    def choose(match: re.Match[str]) -> str:
        return match[3] if (match[2] in given) == (match[1] == "#") else ""

    while (chosen := SECTION.sub(choose, text)) != text:  # sections may hold others
        text = chosen
    for name in prompt.optional - given:
        text = re.sub(rf"\{{\{{{name}\}}\}}\n*", "", text)
    return text


def read_demonstrations(
    role: str, demonstrations: str | None, folders: Collection[str] = ()
) -> tuple[Demonstration, ...]:
    """Read the worked examples of a role `method/step`, in the order of the file; empty if the role has none.

    `demonstrations` is a family, whose files `STEP.FAMILY.jsonl` are found as prompts are, else a folder with
    `STEP.jsonl` files (SettingsError for neither); None for no examples. PromptError for a file that is not UTF-8, or a
    record that does not fit the step, by file and line.
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
    """Check the worked examples of all steps of a method; of those with a built-in prompt without `steps`.

    A family may lack examples for some steps, or for all steps of a method. A folder must have some for this
    method, and nothing that no step reads (SettingsError). Further errors: those of `read_demonstrations`.
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
    entries = cast("list[object]", value) if isinstance(value, list) else [value]
    if name == "passages":
        fits = isinstance(value, list) and all(map(_is_passage, entries))
        return "" if fits else "a list of passages, each with a 'title' and a 'text'"
    return "" if all(isinstance(each, str) for each in entries) else "a text or a list of texts"


def _is_passage(entry: object) -> bool:
    return _is_object(entry) and all(isinstance(entry.get(key), str) for key in ("title", "text"))


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
