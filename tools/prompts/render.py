"""Turn a role and its variables into the messages of a model call."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from hopgraph.state import PromptError
from hopgraph.tools.prompts.delimit import Value, clean, format_block
from hopgraph.tools.prompts.demonstrations import Demonstration, read_demonstrations
from hopgraph.tools.prompts.prompt_files import ABSTAIN, PLACEHOLDER, SECTION, PromptFile, read_prompt


def render(
    role: str,
    variables: Mapping[str, Value],
    *,
    folders: Collection[str] = (),
    demonstrations: str | None = None,
    abstain: bool = True,
) -> list[BaseMessage]:
    """Make the messages of a call: system, demonstrations as human and AI pairs, human.

    The system message's first line names the role, so that a simulated model can serve any role, also over
    HTTP and under edited prompts. A variable that holds a number goes in as it is; all others as
    delimited blocks. Demonstrations look like the input: those are shown whose variables differ least from the given
    ones (with passages or without), less the variables that are not given; none says yes or no where that is not
    asked for. Without `abstain` (see the setting), the sections for it are left out, and so are demonstrations that
    abstain.

    Raises:
        PromptError: no prompt for the role, a variable that is missing or unknown, or unusable demonstrations.
        SettingsError: `demonstrations` is neither a family nor a folder.
    """
    prompt = read_prompt(role, folders)
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
        raise PromptError(f"{prompt.source}: variable {min(unknown)!r} is given but the prompt has no place for it")

    def choose(match: re.Match[str]) -> str:
        return match[3] if (match[2] in given) == (match[1] == "#") else ""

    while (chosen := SECTION.sub(choose, text)) != text:  # sections may hold others
        text = chosen
    for name in prompt.optional - given:
        text = re.sub(rf"\{{\{{{name}\}}\}}\n*", "", text)
    return text
