"""The methods as tools of a Model Context Protocol server, over standard input and output or over HTTP.

There is one tool for each method, and `auto`, which lets the chat choose one. Their only argument is a question, and,
if there are several, the document set: the operator chooses the model and the corpus. A result is the answer with its
numbered citations, as text and as structured content. Steps are reported as progress if the client asks for it, a
cancelled call cancels its run, and a question that cannot be answered is a tool error of one line.
"""

from collections import OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import cache
from importlib.metadata import version
from typing import Any

import mcp_types as types
from langchain_core.messages import HumanMessage
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import TypeAdapter
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from hopgraph.graphs import METHODS
from hopgraph.nodes.prepare import checked_question
from hopgraph.state import HopgraphError, SettingsError
from hopgraph.state.chat import AUTO
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.apps.server.document_sets import split_documents
from hopgraph.tools.apps.server.refusal import Refusal
from hopgraph.tools.apps.server.relay import relay_steps
from hopgraph.tools.apps.server.server_options import OWNER
from hopgraph.tools.apps.server.service import Service, model_names
from hopgraph.tools.apps.server.turn import AnswerPayload, TurnEnd, answer_payload, error_line, replace_surrogates

_AUTO_DESCRIPTION = (
    "Answers a question from the documents, with citations. If one passage can answer the question, it is looked up "
    "directly; if several passages are needed, they are searched for step by step."
)
_INSTRUCTIONS = (
    "Each tool answers a question from one collection of documents and cites the sentences that support the answer. "
    "Use `auto` unless the user names a method. Pass the whole question, understandable without the conversation. "
    "An empty answer means that the documents do not contain one."
)
_QUESTION = {"type": "string", "description": "one standalone question, in plain words"}
_INPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"question": {**_QUESTION, "minLength": 1, "maxLength": MAX_TEXT_CHARACTERS}},
    "required": ["question"],
    "additionalProperties": False,
}
SHARE = 32  # concurrent sessions of a user over HTTP
_IDLE_SECONDS = 300.0  # until a session ends


def mcp_server(service: Service, only: Sequence[str] = ()) -> Server[Any]:
    """Create the server, with `only` the tools of these names, or all of them."""
    offered = only or model_names()

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        names = await service.documents.names_for(_user_of(context))
        return types.ListToolsResult(tools=[describe_tool(name, names) for name in offered])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            user = _user_of(context)
            if params.name not in offered:
                raise SettingsError(f"tool {params.name!r:.80} is unknown; available: {', '.join(offered)}")
            return await _call(service, user, params.name, params.arguments or {}, context.session.report_progress)
        except (HopgraphError, TimeoutError) as error:
            line = error_line(error, service.options.turn_seconds)
            return types.CallToolResult(content=[types.TextContent(text=line)], is_error=True)

    return Server(
        "hopgraph",
        version=version("hopgraph"),
        title="hopgraph",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _user_of(context: ServerRequestContext[Any]) -> str:
    return context.request.scope.get("state", {}).get("user", OWNER) if context.request else OWNER


def describe_tool(name: str, documents: Sequence[str] = ()) -> types.Tool:
    """Describe a method as a tool, using its docstring, with the document sets that can be chosen."""
    title, description = "auto: chosen for each question", _AUTO_DESCRIPTION
    if name != AUTO:
        # The first two paragraphs: the method's name and claim.
        full_name, claim, *_ = [
            " ".join(part.split()) for part in f"{METHODS[name].docstring or name}\n\n\n\n".split("\n\n")
        ]
        title = full_name.rstrip(".")
        description = f"Answers a question from the documents, with citations, by {full_name} {claim}"
    return types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=_input_schema(documents),
        output_schema=_output_schema(),
        annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False),
    )


@cache
def _output_schema() -> dict[str, Any]:
    return TypeAdapter(AnswerPayload).json_schema()


def _input_schema(documents: Sequence[str]) -> dict[str, Any]:
    if len(documents) < 2:
        return _INPUT_SCHEMA
    chosen = {"type": "string", "enum": [*documents], "description": "the documents to search; default: all"}
    return {**_INPUT_SCHEMA, "properties": {**_INPUT_SCHEMA["properties"], "documents": chosen}}


async def _call(
    service: Service, user: str, name: str, arguments: Mapping[str, Any], report: Callable[..., Awaitable[None]]
) -> types.CallToolResult:
    arguments, documents = split_documents(arguments)
    if unknown := sorted(arguments.keys() - {"question"}):
        raise SettingsError(f"argument {unknown[0]!r:.80} is unknown; tools only accept `question`")
    question = arguments.get("question")
    if not isinstance(question, str):
        raise SettingsError("argument 'question' is missing or not a string")
    question = checked_question(question)
    turn = service.answer_messages([HumanMessage(question)], service.settings(name, {}), user, documents)
    number = 0
    async with aclosing(relay_steps(turn, service.options.turn_seconds)) as steps:
        async for step in steps:
            if isinstance(step, TurnEnd):
                text, payload = step.state["messages"][-1].text, answer_payload(step.state)
                content = types.TextContent(text=replace_surrogates(text))
                return types.CallToolResult(content=[content], structured_content=payload)
            for line in step.lines if step else ():
                if not line.label and line.style != "heading":
                    continue  # a detail of a step
                number += 1
                await report(number, message=replace_surrogates(f"{line.label} {line.text}".strip()))
    raise AssertionError("the turn yielded no end")


class McpOverHttp:
    """The server as an ASGI app (streamable HTTP), open while `running`; a session is "not found" for other users.

    Each user has a share of sessions; another one ends their least recently used one.
    """

    _sessions: StreamableHTTPSessionManager

    def __init__(self) -> None:
        self._of_user = defaultdict[str, OrderedDict[str, None]](OrderedDict)

    @asynccontextmanager
    async def running(self, service: Service) -> AsyncGenerator[None]:
        """Serve until the context ends, which cancels everything still running."""
        # Hosts and origins are checked by the guards, which know the app's names.
        size = service.options.max_body_bytes
        self._sessions = StreamableHTTPSessionManager(
            mcp_server(service), max_request_body_size=size, max_sessions=None, session_idle_timeout=_IDLE_SECONDS
        )
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        kind = Headers(scope=scope).get("content-type", "")
        if scope["method"] == "POST" and not kind.lower().startswith("application/json"):
            # The package would refuse it in plain text.
            await Refusal(415, "send Content-Type: application/json")(scope, receive, send)
            return
        # Read here, because the package logs a traceback if the client disconnects meanwhile.
        body: Message = {"type": "http.request", "body": await Request(scope, receive).body()}
        unread = [body]

        async def replay() -> Message:
            return unread.pop() if unread else await receive()

        user = scope.get("state", {}).get("user", OWNER)
        authenticated = AuthenticatedUser(AccessToken(token="", client_id=user, scopes=[]))
        of_user: Scope = {**scope, "user": authenticated}

        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._note(user, Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER), of_user)
            await send(message)

        await self._sessions.handle_request(of_user, replay, note)

    async def _note(self, user: str, session: str | None, scope: Scope) -> None:
        """Record the use of a user's session, and close the oldest beyond the limit, as its client would."""
        if session is None:
            return
        sessions = self._of_user[user]
        sessions[session] = None
        sessions.move_to_end(session)
        while len(sessions) > SHARE:
            oldest, _ = sessions.popitem(last=False)
            headers = [(MCP_SESSION_ID_HEADER.encode(), oldest.encode())]
            await self._sessions.handle_request({**scope, "method": "DELETE", "headers": headers}, _no_body, _unsent)


async def _no_body() -> Message:
    return {"type": "http.request", "body": b""}


async def _unsent(message: Message) -> None:
    """Drop a reply that nobody is waiting for."""


async def run_stdio(service: Service, only: Sequence[str] = ()) -> None:
    """Serve one client on standard input and output until it disconnects; nothing else is written there."""
    server = mcp_server(service, only)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
