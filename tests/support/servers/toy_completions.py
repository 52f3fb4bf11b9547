"""A tiny language model with an exact distribution, behind the completions endpoints of vLLM and of llama.cpp.

The probability of a token depends on the one before it alone. Characters outside ASCII are tokens of single bytes, as
rare ones are for real models: vLLM gives their text with the last byte, and llama.cpp holds all but the last back.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from support.servers.chat_request import Problem

Flavour = Literal["vllm", "llama.cpp"]
JsonBody = dict[str, Any]

_BEGIN = 0
_WORDS = ["", " Tallinn", " Riga", " Tall", "inn", " the", "Answer", "[Retrieval]", "[Relevant]"]
VOCABULARY = [word.encode() for word in _WORDS] + [bytes([value]) for value in range(256)]


def tokenize(text: str) -> list[int]:
    """Tokenize a text greedily; a beginning-of-text token comes first."""
    left, found = text.encode(), [_BEGIN]
    while left:
        words = [token for token in range(1, len(_WORDS)) if left.startswith(VOCABULARY[token])]
        found.append(max(words, key=lambda token: len(VOCABULARY[token]), default=len(_WORDS) + left[0]))
        left = left[len(VOCABULARY[found[-1]]) :]
    return found


@cache
def distribution(before: int) -> Sequence[float]:
    """Return the log-probability of each token after another."""
    digests = (hashlib.blake2b(f"{before}/{each}".encode(), digest_size=2).digest() for each in range(len(VOCABULARY)))
    weights = [int.from_bytes(each) / 2**13 for each in digests]
    weights = [weight if isinstance(_piece(token), str) else weight - 9 for token, weight in enumerate(weights)]
    total = math.log(sum(map(math.exp, weights)))
    return [weight - total for weight in weights]


def logprob_of(prompt: str, continuation: str) -> float:
    """Return the log-probability of a text after a prompt; no token spans both."""
    whole = tokenize(prompt + continuation)
    first = len(tokenize(prompt))
    return sum(distribution(before)[token] for before, token in pairwise(whole[first - 1 :]))


def _piece(token: int) -> str | list[int]:
    try:
        return VOCABULARY[token].decode()
    except UnicodeDecodeError:
        return [*VOCABULARY[token]]


def _best(before: int, bias: Mapping[int, float]) -> int:
    logprobs = distribution(before)
    return max(range(1, len(VOCABULARY)), key=lambda token: logprobs[token] + bias.get(token, 0.0))


def _written(prompt: Sequence[int], limit: int, bias: Mapping[int, float]) -> list[int]:
    tokens = [*prompt]
    for _ in range(limit):
        tokens.append(_best(tokens[-1], bias))
    return tokens[len(prompt) :]


def answer_completion(body: Any, flavour: Flavour) -> JsonBody | Problem:
    """Answer `POST /v1/completions`."""
    if not isinstance(body, dict) or not isinstance(body.get("prompt"), str | list):  # pyright: ignore[reportUnknownMemberType]
        return Problem(400, "prompt is missing", param="prompt")
    given: JsonBody = body
    if flavour == "vllm" and given.get("logprobs", 0) > 20:
        return Problem(400, "Requested sample logprobs of 100, which is greater than max allowed: 20", param="logprobs")
    prompt = tokenize(given["prompt"]) if isinstance(given["prompt"], str) else given["prompt"]
    new = _written(prompt, given.get("max_tokens", 16), dict(given.get("logit_bias", [])))
    choice = _echoing(given, prompt, new) if flavour == "vllm" else _holding_back(given, prompt, new)
    usage = {"prompt_tokens": len(prompt), "completion_tokens": len(new), "total_tokens": len(prompt) + len(new)}
    head = {"id": "cmpl-1", "object": "text_completion", "created": 0, "model": given.get("model")}
    return {**head, "choices": [{"index": 0, "finish_reason": "length", **choice}], "usage": usage}


def answer_tokenize(body: Any) -> JsonBody:
    """Answer llama.cpp's `POST /tokenize`."""
    ids = tokenize(body["content"])[0 if body.get("add_special") else 1 :]
    pieces = body.get("with_pieces")
    return {"tokens": [{"id": token, "piece": _piece(token)} for token in ids] if pieces else ids}


def _echoing(body: JsonBody, prompt: Sequence[int], new: Sequence[int]) -> JsonBody:
    """Return a choice in vLLM's format; an echo includes the beginning-of-text token, without a log-probability."""
    tokens = [*prompt, *new] if body.get("echo") else [*new]
    if body.get("logprobs") is None:
        return {"text": b"".join(VOCABULARY[token] for token in tokens).decode(errors="replace"), "logprobs": None}
    texts, held = list[str](), b""
    for token in tokens:
        held += VOCABULARY[token]
        try:
            texts.append(held.decode())
        except UnicodeDecodeError:
            texts.append("")
        else:
            held = b""
    before = [None, *tokens] if body.get("echo") else [prompt[-1], *tokens]
    given = [None if last is None else distribution(last)[token] for last, token in zip(before, tokens, strict=False)]
    logprobs = {
        "tokens": texts,
        "token_logprobs": given,
        "top_logprobs": [
            last and _top(last, token, body["logprobs"]) for last, token in zip(before, tokens, strict=False)
        ],
        "text_offset": [sum(map(len, texts[:number])) for number in range(len(texts))],
    }
    return {"text": "".join(texts), "logprobs": logprobs}


@cache
def _top(before: int, token: int, most: int) -> dict[str, float]:
    logprobs = distribution(before)
    likeliest = sorted(range(len(VOCABULARY)), key=lambda each: -logprobs[each])[:most]
    return {VOCABULARY[each].decode(errors="replace"): logprobs[each] for each in (*likeliest, token)}


def _holding_back(body: JsonBody, prompt: Sequence[int], new: Sequence[int]) -> JsonBody:
    """Return a choice in llama.cpp's format, which has no echo."""

    def place(before: int, token: int) -> JsonBody:
        piece = VOCABULARY[token]
        return {
            "id": token,
            "token": piece.decode(errors="replace"),
            "bytes": [*piece],
            "logprob": distribution(before)[token],
        }

    if any(isinstance(_piece(token), list) for token in new):
        return {"text": "", "logprobs": None}
    if body.get("logprobs") is None:
        return {"text": b"".join(VOCABULARY[token] for token in new).decode(), "logprobs": None}
    content: list[JsonBody] = []
    for before, token in pairwise([prompt[-1], *new]):
        likeliest = sorted(range(len(VOCABULARY)), key=lambda each: -distribution(before)[each])[: body["logprobs"]]
        content.append({**place(before, token), "top_logprobs": [place(before, each) for each in likeliest]})
    return {"text": b"".join(VOCABULARY[token] for token in new).decode(), "logprobs": {"content": content}}
