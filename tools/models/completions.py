"""Plain text and its log-probabilities, from a server's completions endpoint.

A given text is scored by servers that echo a prompt with its log-probabilities (vLLM), else by llama.cpp, token by
token: a bias makes it write each token of the text in turn, and is not part of the log-probabilities that it reports.
Text that the model writes itself comes with the likeliest tokens at each place from both.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Annotated, Any

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from pydantic import BaseModel, BeforeValidator, Field

from hopgraph.state import ModelError
from hopgraph.tools.io.background import run_on
from hopgraph.tools.io.http_retries import UnreadableReplyError, status_of
from hopgraph.tools.io.redact import redact
from hopgraph.tools.io.reply_bounds import time_limit
from hopgraph.tools.io.runnables import leaves_of
from hopgraph.tools.io.server_errors import UNSUPPORTED_STATUS, page_text, raise_reported
from hopgraph.tools.models.reply_cache import ModelReply
from hopgraph.tools.models.resolve import ModelHandle
from hopgraph.tools.models.send import (
    CONFIG,
    SendOptions,
    as_model_error,
    check_key,
    note_refused_key,
    request_with_retries,
    send,
)
from hopgraph.tools.models.server_replies import read_usage
from hopgraph.tools.models.structured import is_openai
from hopgraph.tools.models.tokens import count_tokens
from hopgraph.tools.prompts import escape, format_block

WRITTEN = "log_probabilities"
"""The block that tells a simulated model to write tokens instead of its record."""
_BIAS = 1000.0  # makes a token certain
_WHOLE_VOCABULARY = 1_000_000  # more than any model has


def _clamp(value: Any) -> Any:
    """Clamp log-probabilities: servers write -inf or -9999 for 0, and rounding may lead above 0."""
    return min(0.0, max(-10_000.0, value)) if isinstance(value, int | float) else value


Logprob = Annotated[float, BeforeValidator(_clamp)]
"""The natural logarithm of a probability."""


class TokenLogprob(BaseModel):
    """A token with the natural logarithm of its probability given all preceding text."""

    text: str
    """Empty if it ends within a character."""
    logprob: Logprob
    top: dict[str, Logprob] = Field(default_factory=dict[str, float])
    """The most likely tokens at its position, by text, including itself; empty in a given text."""


class TokenLogprobs(BaseModel):
    """The tokens of a text, in order; empty if there is none."""

    tokens: list[TokenLogprob]

    @property
    def total(self) -> float:
        """The log-probability of the whole text."""
        return sum(token.logprob for token in self.tokens)


class WrittenText(BaseModel):
    """A text without log-probabilities, up to its stop sequence."""

    text: str = Field(json_schema_extra={"maxLength": 2000})
    """A record of a longer one is read, too."""


@dataclass(frozen=True)
class TextRequest:
    """A request for plain text instead of a record, with log-probabilities unless it has a stop sequence."""

    continuation: str = ""
    """The text to score; if empty, the model writes one itself."""
    prompt: str = ""
    """The text to continue, instead of a rendered prompt."""
    max_tokens: int = 1
    """Maximum tokens of a written text."""
    top: int = 20
    """Number of most likely tokens listed at each position; servers may return fewer."""
    stop: tuple[str, ...] = ()
    """Stop sequences of a written text; the reply is then a `WrittenText`."""


async def complete(
    handle: ModelHandle, messages: list[BaseMessage], request: TextRequest, options: SendOptions
) -> ModelReply:
    """Score a text after a prompt, or let the model continue; the reply's text is a `TokenLogprobs` as JSON.

    The prompt is the messages' texts, with blank lines between them and no chat template. A stand-in (a model with a
    true `writes_logprobs`) is told in a block of the prompt what to score, and replies with the record itself. With
    `stop`, a `WrittenText`: from the completions endpoint, or as a record from any other model.
    ModelError where the request fails after the retries, or the server gives no log-probabilities.
    """
    if request.stop and not is_openai(handle.model):
        return await send(handle, messages, WrittenText, options)
    if getattr(handle.model, "writes_logprobs", False):
        system, prompt, *said_since = messages
        block = format_block("continuation" if request.continuation else WRITTEN, request.continuation)
        told = HumanMessage(f"{prompt.text}\n\n{block}")
        return await send(handle, [system, told, *said_since], TokenLogprobs, options)
    if not is_openai(handle.model):
        raise ModelError(f"{handle.name} returns no log-probabilities; use gguf:FILE or openai:MODEL")
    prompt = request.prompt or "\n\n".join(str(message.text) for message in messages)
    return await run_on(handle.loop(), _complete(handle, prompt, request, options))


async def _complete(handle: ModelHandle, prompt: str, request: TextRequest, options: SendOptions) -> ModelReply:
    waiting_since = time.monotonic()
    async with handle.shared.limit(options.parallel):
        check_key(handle, waiting_since)
        here = await handle.here()
        endpoint = _Endpoint(handle, getattr(leaves_of(here.model)[0], "root_async_client"))  # noqa: B009
        traced = RunnableLambda(partial(endpoint.reply, request), name="log-probabilities")  # as chat models are
        try:
            with here.request():
                return await request_with_retries(handle, options, partial(traced.ainvoke, prompt, CONFIG))
        except Exception as error:  # noqa: BLE001 - as `send`; others pass
            note_refused_key(handle, error)
            said = as_model_error(handle, error)
            no_endpoint = status_of(error) in (404, 405)
            raise (ModelError(f"{said}, with a completions endpoint") if no_endpoint else said) from None


@dataclass(frozen=True)
class _Endpoint:
    """The completions endpoint of a model's server."""

    handle: ModelHandle
    client: Any

    async def reply(self, request: TextRequest, prompt: str) -> ModelReply:
        try:
            if not request.continuation:
                return await self._write(request, prompt)
            shared = self.handle.shared
            scored = None if shared.echoes is False else await self._echoed(prompt, request.continuation)
            reply = scored or await self._forced(prompt, request.continuation)
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise UnreadableReplyError(str(error)) from error
        shared.echoes = scored is not None
        return reply

    async def _echoed(self, prompt: str, text: str) -> ModelReply | None:
        """Score a text on a server that echoes a prompt with its log-probabilities; None if it does not."""
        body = {"prompt": prompt + text, "max_tokens": 1, "echo": True, "logprobs": 1}
        try:
            reply = await self._post(body)
        except Exception as error:
            if self.handle.shared.echoes or status_of(error) not in UNSUPPORTED_STATUS:
                raise
            return None
        choice, usage = reply["choices"][0], reply["usage"]
        logprobs: dict[str, Any] = choice.get("logprobs") or {}
        if "token_logprobs" not in logprobs or not choice["text"].startswith(prompt + text):
            return None
        read: list[tuple[str, float]] = [*zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True)]
        del read[len(read) - usage["completion_tokens"] :]
        # Counted from the end, as a server may put its own token before the prompt.
        first, left = len(read), len(text)
        while left > 0 and first:
            first -= 1
            left -= len(read[first][0])
        return _as_reply([TokenLogprob(text=token, logprob=each) for token, each in read[first:]], usage)

    async def _forced(self, prompt: str, text: str) -> ModelReply:
        """Score a text token by token, in one request each, of which the server has read all but the end before."""
        before, whole = [await self._tokenize(each) for each in (prompt, prompt + text)]
        first = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, whole, strict=False)))
        ids, pieces = [token["id"] for token in whole], [token["piece"] for token in whole]
        plain = ids[max(place for place in range(first) if isinstance(pieces[place], str))]
        scored: list[TokenLogprob] = []
        for number in range(first, len(ids)):
            # A token that ends within a character is held back, and so is only listed beside one that is not.
            written = isinstance(pieces[number], str)
            body = {"prompt": ids[:number], "max_tokens": 1, "logprobs": 1 if written else _WHOLE_VOCABULARY}
            reply = await self._post({**body, "logit_bias": [[ids[number] if written else plain, _BIAS]]})
            place = self._logprobs(reply)["content"][0]
            [logprob, *_] = [e["logprob"] for e in (place, *place["top_logprobs"]) if e["id"] == ids[number]]
            scored.append(TokenLogprob(text=pieces[number] if written else "", logprob=logprob))
        return _as_reply(scored, {"prompt_tokens": len(ids), "completion_tokens": len(scored)})

    async def _tokenize(self, text: str) -> list[dict[str, Any]]:
        url = f"{str(self.client.base_url).rstrip('/').removesuffix('/v1')}/tokenize"
        body = {"content": text, "add_special": True, "with_pieces": True}
        try:
            reply = await self._ask(url, body)
        except Exception as error:
            if self.handle.shared.echoes is False or status_of(error) not in UNSUPPORTED_STATUS:
                raise
            raise ModelError(
                f"{self.handle.name}: {redact(str(self.client.base_url))} gives no log-probabilities of a given text: "
                f"it neither echoes them, as vLLM, nor has /tokenize, as llama.cpp (HTTP {status_of(error)})"
            ) from None
        return reply["tokens"]

    async def _write(self, request: TextRequest, prompt: str) -> ModelReply:
        """Let the model continue; special tokens are part of the text, unless there is a stop sequence."""
        more = {"stop": [*request.stop]} if request.stop else {"logprobs": request.top, "skip_special_tokens": False}
        reply = await self._post({"prompt": prompt, "max_tokens": request.max_tokens, **more})
        text = reply["choices"][0]["text"] or ""
        usage = read_usage(reply) or {"prompt_tokens": count_tokens(prompt), "completion_tokens": count_tokens(text)}
        if request.stop:
            said = WrittenText(text=escape(text))  # as it is unescaped
            return ModelReply(said.model_dump_json(), "", usage["prompt_tokens"], usage["completion_tokens"])
        logprobs = self._logprobs(reply)
        if "content" in logprobs:  # llama.cpp
            read = [(e["token"], e["logprob"], e["top_logprobs"]) for e in logprobs["content"]]
            read = [(text, each, {one["token"]: one["logprob"] for one in top}) for text, each, top in read]
        else:
            read = [*zip(*(logprobs[key] for key in ("tokens", "token_logprobs", "top_logprobs")), strict=True)]
        return _as_reply([TokenLogprob(text=text, logprob=each, top=top) for text, each, top in read], usage)

    def _logprobs(self, reply: Any) -> Any:
        if logprobs := reply["choices"][0].get("logprobs"):
            return logprobs
        raise ModelError(f"{self.handle.name}: {redact(str(self.client.base_url))} gives no log-probabilities")

    async def _post(self, body: Mapping[str, Any]) -> Any:
        model = getattr(leaves_of(self.handle.model)[0], "model_name")  # noqa: B009 - ChatOpenAI's
        request = {"model": model, "temperature": 0, **body}
        return await self._ask("/completions", request)

    async def _ask(self, url: str, body: Mapping[str, Any]) -> Any:
        async with time_limit(self.handle.seconds, self.handle.from_spec):
            reply = await self.client.post(url, cast_to=object, body=body)
        if isinstance(reply, str):
            raise UnreadableReplyError(f"{page_text(reply):.200}")
        raise_reported(reply)
        return reply


def _as_reply(tokens: list[TokenLogprob], usage: Mapping[str, int]) -> ModelReply:
    text = TokenLogprobs(tokens=tokens).model_dump_json(exclude_defaults=True)
    return ModelReply(text, "", usage["prompt_tokens"], usage["completion_tokens"])
