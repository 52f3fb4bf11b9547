"""Language models: specs, requests with retries, structured replies, parsing, the response cache."""

from hopgraph.tools.models.parse import UnusableReplyError, parse_in_turn, parse_reply
from hopgraph.tools.models.resolve import ModelHandle, Sampling, model_name, resolve_model
from hopgraph.tools.models.tokens import count_tokens

__all__ = [
    "ModelHandle",
    "Sampling",
    "UnusableReplyError",
    "count_tokens",
    "model_name",
    "parse_in_turn",
    "parse_reply",
    "resolve_model",
]
