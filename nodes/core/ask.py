"""The one place where nodes talk to models.

`ask_all` renders the prompts of one step, sends them concurrently as far as the budget allows, parses the replies into
records, retries after unusable ones and then uses the declared fallback.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import BaseModel

from hopgraph.nodes.core.budget import REPLY_TOKENS, allows_call, seconds_left, spending_of_run
from hopgraph.nodes.core.step_events import current_position, emit
from hopgraph.state import BudgetState, Call, Context, MethodState, PromptError, Update, empty_call
from hopgraph.state.events import Asked, CacheFailed, Retrying
from hopgraph.tools.io.background import LONG_TEXT, gather_or_cancel, maybe_to_thread
from hopgraph.tools.models import ModelHandle, UnusableReplyError, count_tokens, parse_in_turn
from hopgraph.tools.models.completions import TextRequest, complete
from hopgraph.tools.models.reply_cache import ModelReply, cache_key, cached_reply, write_cache
from hopgraph.tools.models.send import SendOptions, send
from hopgraph.tools.models.structured import json_schema
from hopgraph.tools.models.tool_calls import call_tools
from hopgraph.tools.prompts import Value, clean, is_prompt_loaded, render
from hopgraph.tools.resources import get_model
from hopgraph.tools.text.sanitize import truncate_line

RecordT = TypeVar("RecordT", bound=BaseModel)

CallOutcome = Literal["replied", "fallback", "budget"]
_SHOWN = 100  # characters of an unusable reply, in its event


@dataclass(frozen=True)
class ModelCall(Generic[RecordT]):
    """One request to a model."""

    step: str
    """The second part of the role, such as `decide`; the first is the method's name."""
    variables: Mapping[str, Value]
    schema: type[RecordT]
    fallback: RecordT
    """Used if no reply could be parsed, or the budget runs out."""
    sample: int = 0
    """Numbers repeated questions, for methods that sample several replies."""
    sampling: Mapping[str, float] = field(default_factory=dict[str, float])
    """Sampling options of this request alone, such as {"top_p": 0.5}; others are those of the settings."""
    tools: Sequence[BaseTool] = ()
    """Tools to offer the model instead of asking for a record; the schema is `ToolTurn`."""
    history: Sequence[BaseMessage] = ()
    """Messages after the prompt: the tool calls so far and their results."""
    text: TextRequest | None = None
    """Ask for log-probabilities of plain text instead of a record; the schema is `TokenLogprobs`."""
    on_reply: Callable[[str], None] | None = None
    """Called with the text so far at each new piece if the model streams; not for a cached reply."""


@dataclass(frozen=True)
class CallResult(Generic[RecordT]):
    """The result of a `ModelCall`."""

    record: RecordT
    outcome: CallOutcome
    """`fallback`: no reply could be used. `budget`: it was not sent, or the deadline cut it off."""
    id: str
    call: Call

    @property
    def sent(self) -> bool:
        """True unless the budget prevented the request entirely."""
        return self.outcome != "budget" or self.call["attempts"] > 0


def answer_type_variable(settings: Context) -> dict[str, Value]:
    """Return the variable with which a prompt asks for yes or no; empty for other answers."""
    return {"answer_type": "yes_no"} if settings.answer_type == "yes_no" else {}


def without_yes_no(settings: Context) -> Context:
    """Return the settings for an answer that must not be yes or no: a part of the question, or a chain of thought."""
    return settings.model_copy(update={"answer_type": "short"})


def calls_of(answers: Iterable[CallResult[Any]]) -> dict[str, Call]:
    """Collect the calls of results, for the node's update of `calls`."""
    return {answer.id: answer.call for answer in answers if answer.sent}


def ran_out_of_budget(answers: Iterable[CallResult[Any]]) -> bool:
    """Return whether any of these ran out of budget."""
    return any(answer.outcome == "budget" for answer in answers)


def usage_update(state: MethodState, answers: Sequence[CallResult[Any]]) -> Update:
    """Return the part of a node's update that reports its usage: `calls`, and a `stop_reason` if the budget ended."""
    return {"stop_reason": "budget" if ran_out_of_budget(answers) else state["stop_reason"], "calls": calls_of(answers)}


async def ask(
    runtime: Runtime[Any], state: BudgetState, wanted: ModelCall[RecordT], *, reserve_calls: int | None = None
) -> CallResult[RecordT]:
    """Ask a model once; see `ask_all`."""
    return (await ask_all(runtime, state, [wanted], reserve_calls=reserve_calls))[0]


async def ask_all(
    runtime: Runtime[Any], state: BudgetState, wanted: Sequence[ModelCall[RecordT]], *, reserve_calls: int | None = None
) -> list[CallResult[RecordT]]:
    """Call models concurrently; one result per request, in order.

    Each request counts from when it is sent, also for what runs at the same time. `reserve_calls` model calls are kept
    for later steps, and with them a quarter of the tokens and the time, even if the number is 0. None: what the
    graph reserves after this node (`MethodGraph.add_node`); if that is also None, this is the final answer, which
    reserves nothing.

    Raises:
        ModelError: a call failed after all retries. PromptError: a prompt cannot be rendered.
    """
    settings: Context = runtime.context
    rendered = await _rendered(settings, wanted)
    prompts = [[*prompt, *each.history] for prompt, each in zip(rendered, wanted, strict=True)]
    limited = settings.max_tokens is not None
    sizes = [sum(count_tokens(str(message.text)) for message in prompt) if limited else 0 for prompt in prompts]
    here = current_position()
    reserve_calls = here.reserve_calls if reserve_calls is None else reserve_calls
    spending = spending_of_run(settings)
    first = here.next_numbers(len(wanted))
    return await gather_or_cancel(
        _Conversation(runtime, state, spending, each, prompt, size + REPLY_TOKENS, first + offset, reserve_calls).run()
        for offset, (each, prompt, size) in enumerate(zip(wanted, prompts, sizes, strict=True))
    )


async def _rendered(settings: Context, wanted: Sequence[ModelCall[Any]]) -> list[list[BaseMessage]]:
    """Render the prompts; off the event loop if files have to be read or the passages are long."""
    size = sum(len(text) for each in wanted for value in each.variables.values() for text in _texts(value))
    long = size > LONG_TEXT or reads_prompt_files(settings, [each.step for each in wanted])
    return await maybe_to_thread(long, _render_all, settings, wanted)


def reads_prompt_files(settings: Context, steps: Iterable[str]) -> bool:
    """Return whether rendering the prompts of these steps has to read files."""
    at_hand = all(is_prompt_loaded(f"{settings.method}/{each}", settings.prompt_folders) for each in steps)
    return not at_hand or settings.demonstrations is not None


def _texts(value: Value) -> list[str]:
    """List the texts in a prompt variable."""
    if isinstance(value, str | int):
        return [str(value)]
    return [text for each in value for text in ([each] if isinstance(each, str) else each.values())]


def _render_all(settings: Context, wanted: Sequence[ModelCall[Any]]) -> list[list[BaseMessage]]:
    for each in wanted:
        if settings.steps and each.step not in settings.all_steps():
            raise PromptError(f"{settings.method}: step {each.step!r} is not among the method's steps")
    return [render_step(settings, each.step, each.variables) for each in wanted]


def render_step(settings: Context, step: str, variables: Mapping[str, Value]) -> list[BaseMessage]:
    """Return the prompt of one of the method's steps as sent to its model; PromptError if that fails."""
    return render(
        f"{settings.method}/{step}",
        variables,
        folders=settings.prompt_folders,
        text=settings.prompt_of(step),
        demonstrations=settings.demonstrations,
        abstain=settings.abstain,
    )


def report_call(
    runtime: Runtime[Any],
    call: Call,
    model: str,
    outcome: CallOutcome,
    number: int,
    seconds: float = 0.0,
    problem: str = "",
) -> str:
    """Report a call as the `asked` event of this number, and return its id among the state's `calls`."""
    event = Asked.from_record(call, model=model, outcome=outcome, seconds=seconds, problem=problem)
    emit(runtime, event, number=number)
    return _call_id(call, number)


def _call_id(call: Call, number: int) -> str:
    where = current_position()
    return f"{where.step:05}:{where.path}:{number:04}:{call['role']}"


@dataclass
class _Conversation(Generic[RecordT]):
    """One request until a usable reply, the fallback or the end of the budget."""

    runtime: Runtime[Any]
    state: BudgetState
    spending: dict[str, Call]
    """The calls of the run so far, including concurrent ones."""
    wanted: ModelCall[RecordT]
    messages: list[BaseMessage]
    tokens: int
    """Expected tokens of a request."""
    number: int
    reserve_calls: int | None
    call: Call = field(init=False)
    admitted: bool = field(init=False)
    """True if the next request may be sent; those of one step are admitted in order."""
    problem: str = ""
    """The problem with the last unusable reply."""

    def __post_init__(self) -> None:
        settings: Context = self.runtime.context
        passages = self.wanted.variables.get("passages", ())
        self.call = {
            **empty_call("model", f"{settings.method}/{self.wanted.step}"),
            "passages": 0 if isinstance(passages, str | int) else len(passages),
            "knowledge_tokens": sum(map(count_tokens, _texts(passages))),
        }
        self.spending[_call_id(self.call, self.number)] = self.call
        self.admitted = self._admit()

    async def run(self) -> CallResult[RecordT]:
        began = time.perf_counter()
        handle = await get_model(self.runtime.context, self.call["role"])
        record, outcome = await self._within_budget(handle)
        seconds = round(time.perf_counter() - began, 6)
        call_id = report_call(self.runtime, self.call, handle.name, outcome, self.number, seconds, self.problem)
        return CallResult(record, outcome, call_id, self.call)

    async def _within_budget(self, handle: ModelHandle) -> tuple[RecordT, CallOutcome]:
        deadline = asyncio.timeout(
            seconds_left(self.runtime.context, self.state, answer_follows=self.reserve_calls is not None)
        )
        try:
            async with deadline:
                return await self._until_usable(handle)
        except TimeoutError:
            if not deadline.expired():
                raise
        return self.wanted.fallback, "budget"

    async def _until_usable(self, handle: ModelHandle) -> tuple[RecordT, CallOutcome]:
        while self.admitted:
            try:
                reply = await self._reply(handle)
            finally:
                self.call["prompt_tokens"] -= self.tokens
            self.call["prompt_tokens"] += reply.prompt_tokens
            self.call["completion_tokens"] += reply.completion_tokens
            try:
                if reply.problem:
                    raise UnusableReplyError(reply.problem)
                return await parse_in_turn(reply.text, self.wanted.schema), "replied"
            except UnusableReplyError as problem:
                self.call["parse_failures"] += 1
                self.problem = truncate_line(f"{problem}: {reply.text[:_SHOWN]!r}", 2 * _SHOWN)
                self.messages = [*self.messages, *_ask_again(reply.text, problem, calls=bool(self.wanted.tools))]
                self.admitted = self._admit()
        return self.wanted.fallback, "fallback" if self.call["attempts"] else "budget"

    def _admit(self) -> bool:
        """Count one more request, with its expected tokens, if the budget allows it."""
        settings: Context = self.runtime.context
        if self.call["attempts"] > settings.parse_retries or not self._is_within_budget(settings):
            return False
        self.call["attempts"] += 1
        self.call["prompt_tokens"] += self.tokens
        return True

    def _is_within_budget(self, settings: Context) -> bool:
        if settings.max_llm_calls is settings.max_tokens is settings.deadline_seconds is None:
            return True
        spent = BudgetState(calls={**self.state["calls"], **self.spending}, started_at=self.state["started_at"])
        return allows_call(settings, spent, self.tokens, reserve_calls=self.reserve_calls)

    async def _reply(self, handle: ModelHandle) -> ModelReply:
        """Send the current messages, or return the cached reply to them."""
        settings: Context = self.runtime.context
        sampling = tuple(sorted(self.wanted.sampling.items()))
        options = SendOptions(
            settings.max_parallel_calls,
            settings.request_retries,
            sampling,
            settings.max_output_tokens,
            lambda failed: emit(self.runtime, Retrying(role=self.call["role"], **failed._asdict())),
            on_text=self.wanted.on_reply,
        )
        if not settings.cache_dir:
            return await self._send(handle, options)
        key = self._cache_key(handle)
        async with cached_reply(settings.cache_dir, key) as cached:
            if cached is not None:
                self.call["cached"] += 1
                return cached
            reply = await self._send(handle, options)
            await self._store(settings.cache_dir, key, reply)
            return reply

    async def _send(self, handle: ModelHandle, options: SendOptions) -> ModelReply:
        if self.wanted.tools:
            return await call_tools(handle, self.messages, self.wanted.tools, options)
        if self.wanted.text is None:
            return await send(handle, self.messages, self.wanted.schema, options)
        return await complete(handle, self.messages, self.wanted.text, options)

    async def _store(self, folder: str, key: str, reply: ModelReply) -> None:
        try:
            await asyncio.to_thread(write_cache, folder, key, self.call["role"], reply)
        except OSError as error:  # do not lose a paid reply because the disk is full
            emit(self.runtime, CacheFailed(role=self.call["role"], problem=error.strerror or str(error)))

    def _cache_key(self, handle: ModelHandle) -> str:
        settings: Context = self.runtime.context
        limit = settings.max_output_tokens
        return cache_key(
            {
                # The limit derived from the schema cuts off nothing usable.
                **({} if limit is None else {"max_output_tokens": limit}),
                **({} if self.wanted.text is None else {"text": str(self.wanted.text)}),
                **(
                    {"tools": [[each.name, each.description] for each in self.wanted.tools]}
                    if self.wanted.tools
                    else {}
                ),
                **({"address": handle.address} if handle.address else {}),
                "role": self.call["role"],
                "messages": [_cached_form(message) for message in self.messages],
                "model": handle.name,
                "temperature": settings.temperature if handle.from_spec else None,
                "seed": settings.seed if handle.from_spec else None,
                "sample": self.wanted.sample,
                "sampling": dict(self.wanted.sampling),
                "schema": json_schema(self.wanted.schema),
            }
        )


def _cached_form(message: BaseMessage) -> list[Any]:
    calls = [[each["name"], each["args"]] for each in message.tool_calls] if isinstance(message, AIMessage) else []
    return [message.type, str(message.text), *calls]


def _ask_again(text: str, problem: UnusableReplyError, *, calls: bool) -> list[BaseMessage]:
    wanted = "Call one of the tools." if calls else "Reply again with only the JSON object."
    said = AIMessage(clean(text)[:4000] or "(empty)")
    return [said, HumanMessage(f"Your reply could not be used: {problem}. {wanted}")]
