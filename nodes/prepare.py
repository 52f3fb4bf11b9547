"""Start a run: check everything before the first model call, and clear the state of an earlier run."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.ask import reads_prompt_files
from hopgraph.nodes.core.carried import carried_update
from hopgraph.nodes.core.human_review import check_resumable
from hopgraph.state import Context, Query, QuestionError, QuestionInput, SettingsError, Update
from hopgraph.state.context import LINEAGES, PROMPT, own_prompt_folders
from hopgraph.state.fingerprint import record_changes
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.io.background import gather_or_cancel, maybe_to_thread
from hopgraph.tools.models.reply_cache import check_cache
from hopgraph.tools.prompts import check_demonstrations, check_prompt_names, check_prompts_dir, clean, read_prompt
from hopgraph.tools.resources import get_entailment_checker, get_model, get_reranker, get_retrievers


def prepare_for(
    state: type[Any], *, given: Collection[str] = ()
) -> Callable[[QuestionInput, Runtime[Context]], Awaitable[Update]]:
    """Return the first node of a method, given the method's state and what a caller passes besides the question.

    It resets every key of the state: on a thread that answered before, the reducers would otherwise merge the
    old run into the new one. A key in `given` that has a reducer is only written there; the node that reads it
    must empty it.
    """
    hints = get_type_hints(state, include_extras=True)
    empty = {key: _empty(hint) for key, hint in hints.items() if key not in given}
    whole_state = state

    async def prepare(state: QuestionInput, runtime: Runtime[Context]) -> Update:
        """Check the question and the settings, and make the question the first query.

        Writes `question`, `queries`, `iteration` (1), `settings` and `started_at`; empties all keys but those given.
        """
        settings = runtime.context
        if "question" not in state:
            raise QuestionError("the input has no 'question'; pass {'question': '…'}")
        question = checked_question(state["question"])
        check_resumable(settings)
        await check_settings(settings)
        held = dict[str, Any](state)
        return {
            **{key: value for key, value in empty.items() if not isinstance(value, Overwrite) or held.get(key, True)},
            "question": question,
            "queries": [Query(text=question, why="")],
            "iteration": 1,
            "settings": record_changes(settings),
            "started_at": time.time(),
            **carried_update(),
        }

    prepare.__annotations__["state"] = whole_state  # so that the graph passes it all keys
    return prepare


_EMPTY: dict[Any, Any] = {str: "", bool: False, int: 0, float: 0.0, list: [], dict: {}}


def _empty(hint: Any) -> Any:
    if get_origin(hint) is Annotated:  # it has a reducer, which would keep the old value
        return Overwrite(_empty(get_args(hint)[0]))
    return _EMPTY.get(get_origin(hint) or hint)


def checked_question(question: str) -> str:
    """Strip a question and remove invisible characters; QuestionError for a blank or an over-long one."""
    if not isinstance(question, str):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from outside
        raise QuestionError(f"the question must be a string, got {type(question).__name__}")
    checked = clean(question).strip()
    if not checked:
        raise QuestionError("the question is empty; ask something")
    if len(checked) > MAX_TEXT_CHARACTERS:
        raise QuestionError(f"the question has {len(checked):,} characters; the limit is {MAX_TEXT_CHARACTERS:,}")
    return checked


def _check_roles(settings: Context) -> None:
    """Refuse a model bound to a role that this method does not have."""
    for role in settings.models:
        method, _, step = role.partition("/")
        steps = settings.all_steps()
        is_own = method == settings.method and step and step not in steps
        is_like = method not in LINEAGES and get_close_matches(method, [settings.method, *steps], cutoff=0.9)
        if steps and (is_own or is_like):
            known = ", ".join(steps)
            raise SettingsError(f"models: {settings.method} has no role {role!r}; its steps are: {known}")


def _check_prompts(settings: Context) -> None:
    """Check that each step has a prompt and every prompt file belongs to a step; then the demonstrations."""
    if settings.prompts_dir:
        check_prompts_dir(settings.prompts_dir, settings.method, settings.all_steps())
    for name in settings.model_fields_set:
        step = name.removeprefix(PROMPT)
        if step != name and settings.prompt_of(step) and step not in settings.all_steps():
            raise SettingsError(f"{name}: {settings.method} has no step {step!r}")
    for folder in own_prompt_folders(type(settings)):
        check_prompt_names(folder, settings.method, settings.all_steps())
    for step in settings.all_steps():
        read_prompt(f"{settings.method}/{step}", settings.prompt_folders, settings.prompt_of(step))
    check_demonstrations(settings.method, settings.steps, settings.demonstrations, settings.prompt_folders)


async def check_settings(settings: Context) -> None:
    """Check the settings and resolve the resources they name, before anything is spent; raise if they cannot work."""
    _check_roles(settings)
    if settings.cache_dir:
        await asyncio.to_thread(check_cache, settings.cache_dir)
    await maybe_to_thread(reads_prompt_files(settings, settings.all_steps()), _check_prompts, settings)
    await gather_or_cancel([get_model(settings, role) for role in (f"{settings.method}/", *settings.models)])
    if "retriever" in settings.required_resources:
        await get_retrievers(settings)
    if "reranker" in settings.required_resources:
        await get_reranker(settings)
    if "entailment" in settings.required_resources or settings.check_statements:
        await get_entailment_checker(settings)
