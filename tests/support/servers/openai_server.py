"""An OpenAI-compatible HTTP server on loopback around any LangChain chat model, with faults on demand.

with OpenAIServer(ScriptedChatModel(replies=[...]), api_key="sk-test") as server:
    server.fail_next(rate_limited(0.2), None, dropped("end"))
    server.fail_when("migres/decide", truncated())
    client = ChatOpenAI(model="any", base_url=server.base_url, api_key="sk-test")
    ...
    assert [request.role for request in server.requests] == [...]
"""

import contextlib
import math
from collections.abc import Sequence, Set
from types import TracebackType
from typing import Self

from langchain_core.language_models import BaseChatModel
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from support.servers.chat_request import Mode
from support.servers.faults import Fault
from support.servers.loopback import LoopbackServer
from support.servers.openai_app import OpenAIApp, Options
from support.servers.toy_completions import Flavour
from support.servers.traffic import Match, RecordedRequest, Traffic


class OpenAIServer:
    """Serve `model` under `/v1/chat/completions` (JSON and streamed) and `/v1/models`.

    Requests are answered side by side. Structured output: `response_format` is checked as OpenAI checks
    it and the model's text goes out as it is; a forced function gets the model's text as its arguments. A text
    is cut off at the request's limit of tokens.
    A streamed answer is the model's whole reply cut into pieces.

    Args:
        model: answers every request; it runs in the server's thread and loop.
        api_key: the bearer key that every request must carry; None for a server without keys. The
            answer to a wrong key repeats it.
        rejects: modes refused with status 400.
        ignores: modes that are accepted and then not followed; has an effect on `tools` only, whose
            forced call comes back as plain text.
        models: the names served; every other name gets status 404. Empty: every name is served.
        latency: seconds that every answer takes before the model is called.
        reports_usage: whether answers count their tokens.
        completions: whose completions endpoint a tiny model answers, that of vLLM or of llama.cpp; None: there is none.
        port: where it listens, as one that was closed did; 0 for a free port.

    Raises:
        AssertionError: at the end of the `with` block, when the model raised while it served a request.
            Whoever expects that empties `model_errors` with `forgive`.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        api_key: str | None = None,
        rejects: Set[Mode] = frozenset[Mode](),
        ignores: Set[Mode] = frozenset[Mode](),
        models: Sequence[str] = (),
        latency: float = 0.0,
        reports_usage: bool = True,
        completions: Flavour | None = None,
        port: int = 0,
    ) -> None:
        options = Options(api_key, rejects, ignores, tuple(models), latency, reports_usage, completions)
        self._traffic = Traffic()
        self._server = LoopbackServer(self._serve, port)
        self._app = OpenAIApp(model, options, self._traffic, self._server.break_off)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(ClientDisconnect):  # the client hung up before its whole body had arrived
            await self._app.asgi(scope, receive, send)

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:PORT/v1`; known before the server runs."""
        return f"{self._server.url}/v1"

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.port

    @property
    def requests(self) -> list[RecordedRequest]:
        """All requests so far, including refused ones, in order of arrival."""
        return self._traffic.requests

    @property
    def peak_in_flight(self) -> int:
        """The maximum number of concurrent chat requests."""
        return self._traffic.peak_in_flight

    @property
    def model_errors(self) -> list[BaseException]:
        """The model's exceptions so far; the client got status 500 for each."""
        return self._traffic.model_errors

    def fail_next(self, *faults: Fault | None) -> None:
        """Queue one fault for each of the next chat requests with a valid key; None lets one pass."""
        self._traffic.enqueue(faults)

    def fail_when(self, match: str | Match, fault: Fault, *, times: int | None = None) -> None:
        """Apply `fault` to each chat request of a role, or selected by a function; at most `times` times.

        Requests that the queue of `fail_next` takes do not count. The first matching rule is applied.
        """
        picks: Match = (lambda request: request.role == match) if isinstance(match, str) else match
        self._traffic.add_rule(picks, fault, times)

    def forget_faults(self) -> None:
        """Clear all faults."""
        self._traffic.forget_faults()

    def hold(self, after: int = 0) -> None:
        """Answer this many more chat requests; later ones wait for `release`."""
        self._traffic.let_pass(after)

    def release(self) -> None:
        """Answer all waiting and later requests."""
        self._traffic.let_pass(math.inf)

    def forgive(self) -> list[BaseException]:
        """Return and clear the model's exceptions, so that the end of the `with` block does not raise."""
        return self._traffic.forgive()

    def start(self) -> None:
        """Accept connections."""
        self._server.start()

    def close(self) -> None:
        """Abort pending requests, and stop."""
        self._server.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is None and (raised := self.forgive()):
            raise AssertionError(f"the served model raised {len(raised)} time(s); first: {raised[0]!r}") from raised[0]
