"""The fields of a chat completion request, and checks for errors that OpenAI would refuse."""

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, Field, JsonValue

Mode = Literal["json_schema", "json_object", "tools", "bounds"]
"""A way of asking for structured output; `bounds` are those of texts and lists in a strict schema."""

JsonObject = dict[str, JsonValue]


class JsonSchemaFormat(BaseModel):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    schema_: JsonObject = Field(alias="schema")
    strict: bool | None = None


class ResponseFormat(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaFormat | None = None


class FunctionSpec(BaseModel):
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    parameters: JsonObject = Field(default_factory=dict[str, JsonValue])
    strict: bool | None = None


class Tool(BaseModel):
    type: Literal["function"]
    function: FunctionSpec


class FunctionName(BaseModel):
    name: str


class NamedChoice(BaseModel):
    type: Literal["function"]
    function: FunctionName


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """The fields of a chat request that this server acts on; all others are accepted and ignored."""

    model: str
    messages: list[JsonObject] = Field(min_length=1)
    n: Literal[1] | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stop: str | list[str] | None = None
    stream: bool = False
    stream_options: StreamOptions = StreamOptions()
    response_format: ResponseFormat = ResponseFormat(type="text")
    tools: list[Tool] = Field(default_factory=list[Tool])
    tool_choice: Literal["none", "auto", "required"] | NamedChoice = "auto"

    @property
    def forced_tool(self) -> str | None:
        """The function that must be called; None if the model may reply with text."""
        if isinstance(self.tool_choice, NamedChoice):
            return self.tool_choice.function.name
        return self.tools[0].function.name if self.tool_choice == "required" and self.tools else None

    @property
    def modes(self) -> set[Mode]:
        """The structured-output modes that the request uses."""
        used: set[Mode] = {"tools"} if self.tools else set()
        if self.response_format.type != "text":
            used.add(self.response_format.type)
        if (output := self.response_format.json_schema) and output.strict and _has_bounds(output.schema_):
            used.add("bounds")
        return used

    @property
    def limit(self) -> int | None:
        """The most tokens of the answer."""
        return self.max_completion_tokens or self.max_tokens


@dataclass(frozen=True)
class Problem:
    """An error in OpenAI's shape, with its HTTP status."""

    status: int
    message: str
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None

    def body(self) -> JsonObject:
        """The JSON body."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}


def request_problem(request: ChatRequest, rejects: Set[Mode], messages: list[BaseMessage]) -> Problem | None:
    """Return the error that OpenAI, or a server without the modes in `rejects`, would report; None if there is none."""
    for mode in sorted(request.modes & rejects):
        if mode == "tools":
            return Problem(400, "tools not supported", param="tools")
        return Problem(400, f"response_format {mode} is not supported", param="response_format")
    named = [tool.function.name for tool in request.tools]
    if request.forced_tool and request.forced_tool not in named:
        return Problem(400, f"tool_choice {request.forced_tool!r} is not in tools", param="tool_choice")
    if request.response_format.type == "json_object" and not _mentions_json(messages):
        return Problem(400, "a message must hold the word 'json' for this response_format", param="messages")
    return _schema_problem(request)


def _has_bounds(schema: JsonValue) -> bool:
    if isinstance(schema, list):
        return any(map(_has_bounds, schema))
    if not isinstance(schema, dict):
        return False
    return not schema.keys().isdisjoint({"maxItems", "maxLength"}) or any(map(_has_bounds, schema.values()))


def _mentions_json(messages: list[BaseMessage]) -> bool:
    return any("json" in message.text.lower() for message in messages)


def _schema_problem(request: ChatRequest) -> Problem | None:
    output = request.response_format
    if output.type == "json_schema":
        if output.json_schema is None:
            return Problem(400, "json_schema is missing", param="response_format.json_schema")
        fault = _not_strict(output.json_schema.schema_) if output.json_schema.strict else None
        if fault:
            return Problem(400, f"invalid schema for {output.json_schema.name!r}: {fault}", param="response_format")
    for tool in request.tools:
        fault = _not_strict(tool.function.parameters) if tool.function.strict else None
        if fault:
            return Problem(400, f"invalid schema for function {tool.function.name!r}: {fault}", param="tools")
    return None


def _not_strict(schema: JsonValue, path: str = "$") -> str | None:
    """Return where a schema breaks OpenAI's rules for strict output: closed objects, all properties required."""
    if isinstance(schema, list):
        parts = [_not_strict(part, f"{path}[{number}]") for number, part in enumerate(schema)]
        return next(filter(None, parts), None)
    if not isinstance(schema, dict):
        return None
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        names = sorted(properties) if isinstance(properties, dict) else []
        if schema.get("additionalProperties") is not False:
            return f"additionalProperties must be false at {path}"
        if sorted(str(name) for name in (required if isinstance(required, list) else [])) != names:
            return f"required must name every property at {path}"
    return next(filter(None, (_not_strict(part, f"{path}.{name}") for name, part in schema.items())), None)
