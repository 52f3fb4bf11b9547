"""Turn a role and its variables into the messages of a model call."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import JsonValue

from hopgraph.state import PromptError
from hopgraph.tools.prompts.delimit import Value, block
from hopgraph.tools.prompts.files import PromptFile, prompts_root, read_prompt

FAMILIES = ("multi_hop", "open_domain", "yes_no")
"""The families of data sets that have built-in demonstrations."""


@dataclass(frozen=True)
class Demonstration:
    """A worked example of one step."""

    input: Mapping[str, Value]
    output: JsonValue
    """The reply, as the model should write it."""


def render(
    role: str,
    variables: Mapping[str, Value],
    *,
    prompts_dir: str | None = None,
    demonstrations: str | None = None,
) -> list[BaseMessage]:
    """Make the messages of a call: system, demonstrations as human and AI pairs, human.

    The system message's first line names the role, so that a stand-in model can serve any role, also over
    HTTP and under edited prompts. A variable that holds a number goes in as it is; all others as
    delimited blocks. A demonstration shows the variables that are given, so that it looks like the input.

    Raises:
        PromptError: no prompt for the role, or a variable that is missing or unknown.
    """
    prompt = read_prompt(role, prompts_dir)
    examples: list[BaseMessage] = []
    for example in read_demonstrations(role, demonstrations):
        shared = {name: value for name, value in variables.items() if isinstance(value, int)}
        given = {name: value for name, value in example.input.items() if name in variables}
        examples.append(HumanMessage(_fill(prompt, prompt.input, {**shared, **given})))
        examples.append(AIMessage(json.dumps(example.output, ensure_ascii=False)))
    system = f"Role: {role}\n\n{_fill(prompt, prompt.instructions, variables)}"
    return [SystemMessage(system), *examples, HumanMessage(_fill(prompt, prompt.input, variables))]


def _fill(prompt: PromptFile, text: str, variables: Mapping[str, Value]) -> str:
    missing = prompt.variables - prompt.optional - variables.keys()
    if missing:
        raise PromptError(f"{prompt.source}: variable {min(missing)!r} was not given")
    unknown = variables.keys() - prompt.variables
    if unknown:
        raise PromptError(f"{prompt.source}: variable {min(unknown)!r} is given but the prompt has no place for it")

    for name in prompt.optional - variables.keys():
        text = re.sub(rf"\{{\{{{name}\}}\}}\n*", "", text)

    def place(match: re.Match[str]) -> str:
        return block(match[1], variables[match[1]])

    return re.sub(r"\{\{(\w+)\}\}", place, text).strip()


def read_demonstrations(role: str, where: str | None) -> tuple[Demonstration, ...]:
    """Read the worked examples of a role: STEP.FAMILY.jsonl of a built-in family, or STEP.jsonl of a folder.

    Built-in ones are looked for in the method's folder, then in `common`.

    Returns:
        In the order of the file; empty without demonstrations, or where the role has no file.

    Raises:
        PromptError: neither a family nor a folder, or a broken line, by file and line.
    """
    if where is None:
        return ()
    method, step = role.split("/", 1)
    if where in FAMILIES:
        name = f"{step}.{where}.jsonl"
        path = prompts_root() / method / name
        path = path if path.is_file() else prompts_root() / "common" / name
    elif Path(where).is_dir():
        path = Path(where) / f"{step}.jsonl"
    else:
        raise PromptError(f"demonstrations {where!r}: neither one of {', '.join(FAMILIES)} nor a folder")
    return _parsed(path, path.stat().st_mtime_ns) if path.is_file() else ()


@lru_cache(maxsize=512)
def _parsed(path: Path, _modified: int) -> tuple[Demonstration, ...]:
    found: list[Demonstration] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = cast("object", json.loads(line))
        except ValueError as error:
            raise PromptError(f"{path}:{number}: not JSON ({error})") from None
        if not isinstance(record, dict) or not {"input", "output"} <= record.keys():
            raise PromptError(f"{path}:{number}: expected an object with 'input' and 'output'")
        example = cast("dict[str, JsonValue]", record)
        found.append(Demonstration(cast("Mapping[str, Value]", example["input"]), example["output"]))
    return tuple(found)
