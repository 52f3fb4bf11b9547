"""Prompt files: find, check and list them.

A file has three parts: the variables that its input takes, the instructions, and the input. A variable
with `?` may be left out.

    variables: passages, question, answer_type?
    --- instructions
    Read the passages …
    --- input
    {{passages}}

    {{question}}
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from hopgraph.state import PromptError, SettingsError

_PARTS = re.compile(
    r"\Avariables:(?P<variables>[^\n]*)\n--- instructions\n(?P<instructions>.*?)\n--- input\n(?P<input>.*)\Z",
    re.DOTALL,
)
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class PromptFile:
    """A checked prompt file."""

    source: str
    """Where it was read, for messages."""
    variables: frozenset[str]
    optional: frozenset[str]
    """Those of the variables that may be left out."""
    instructions: str
    """The system message, without the role line."""
    input: str
    """The human message, with placeholders."""


def prompts_root() -> Path:
    """Find the folder of the built-in prompts."""
    return Path(str(files("hopgraph.nodes"))) / "prompts"


def read_prompt(role: str, prompts_dir: str | None = None) -> PromptFile:
    """Read the prompt of a role `method/step`.

    Looked for as `METHOD/STEP.md` and then `common/STEP.md`, in `prompts_dir` first if there is one.

    Raises:
        PromptError: no such file, or one whose variables do not fit.
    """
    roots = ([Path(prompts_dir)] if prompts_dir else []) + [prompts_root()]
    method, step = role.split("/", 1)
    for root in roots:
        for path in (root / method / f"{step}.md", root / "common" / f"{step}.md"):
            if path.is_file():
                return _checked(path, path.stat().st_mtime_ns)
    raise PromptError(f"no prompt for role {role!r}: looked for {method}/{step}.md and common/{step}.md")


def check_folder(prompts_dir: str, method: str) -> None:
    """Check every prompt file that a folder replaces for a method, before anything is spent.

    Raises:
        SettingsError: no such folder, or nothing in it for this method.
        PromptError: a file whose variables do not fit.
    """
    folder = Path(prompts_dir)
    if not folder.is_dir():
        raise SettingsError(f"prompts_dir {prompts_dir!r} is not a folder")
    found = [path for part in ("common", method) for path in sorted((folder / part).glob("*.md"))]
    if not found:
        raise SettingsError(f"prompts_dir {prompts_dir!r} holds no common/STEP.md and no {method}/STEP.md")
    for path in found:
        _checked(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=512)
def _checked(path: Path, _modified: int) -> PromptFile:
    built_in = prompts_root() / "common" / path.name
    prompt = parse_prompt(path.read_text(encoding="utf-8"), str(path))
    if built_in.is_file() and built_in != path:
        allowed = parse_prompt(built_in.read_text(encoding="utf-8"), str(built_in)).variables
        different = prompt.variables ^ allowed
        if different:
            name = min(different)
            problem = "unknown" if name in prompt.variables else "missing"
            raise PromptError(f"{path}: variable {name!r} is {problem}; this step gives: {', '.join(sorted(allowed))}")
    return prompt


def parse_prompt(text: str, source: str) -> PromptFile:
    """Parse a prompt file and check that it uses exactly the variables that it declares.

    Raises:
        PromptError: a part is missing, or a variable is declared and not used or used and not declared.
    """
    parts = _PARTS.match(text)
    if parts is None:
        raise PromptError(f"{source}: expected 'variables:', '--- instructions' and '--- input' parts")
    names = [name.strip() for name in parts["variables"].split(",") if name.strip()]
    declared = {name.removesuffix("?") for name in names}
    used = set(_PLACEHOLDER.findall(parts["instructions"] + parts["input"]))
    if declared != used:
        name = min(declared ^ used)
        problem = "used but not declared" if name in used else "declared but not used"
        raise PromptError(f"{source}: variable {name!r} is {problem}")
    return PromptFile(
        source=source,
        variables=frozenset(declared),
        optional=frozenset(name.removesuffix("?") for name in names if name.endswith("?")),
        instructions=parts["instructions"].strip(),
        input=parts["input"].strip(),
    )


def prompt_files(method: str) -> Iterator[tuple[str, Path]]:
    """List the built-in files that a method's roles use: (path relative to the prompts folder, file)."""
    for folder in ("common", method):
        for path in sorted((prompts_root() / folder).glob("*")):
            if path.suffix in {".md", ".jsonl"}:
                yield f"{folder}/{path.name}", path
