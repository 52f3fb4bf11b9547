"""The text that Self-RAG's weights were trained to continue, and the reflection tokens in what they write."""

import math
import re
from collections.abc import Mapping

from hopgraph.tools.models.completions import TokenLogprobs
from hopgraph.tools.prompts import escape

RETRIEVAL = {"[Retrieval]": 1.0, "[No Retrieval]": 0.0}
RELEVANCE = {"[Relevant]": 1.0, "[Irrelevant]": 0.0}
SUPPORT = {"[Fully supported]": 1.0, "[Partially supported]": 0.5, "[No support / Contradictory]": 0.0}
UTILITY = {f"[Utility:{stars}]": (stars - 3) / 2 for stars in range(1, 6)}
"""Groups of tokens, one of which is written in its place; each with what it is worth."""

_TOKENS = [*RETRIEVAL, *RELEVANCE, *SUPPORT, *UTILITY, "[Continue to Use Evidence]"]
_WRITTEN = re.compile("|".join(map(re.escape, [*_TOKENS, "<s>", "</s>"])))
_LOOKS_LIKE_ONE = re.compile(
    rf"\[(?=\s*(?:{'|'.join(re.escape(each[1:6]) for each in _TOKENS)}))|#(?=##)", re.IGNORECASE
)


def instruction(question: str, *, yes_no: bool = False) -> str:
    """Return what comes before the first token that the model writes."""
    asked = f"{_plain(question)} Answer yes or no." if yes_no else _plain(question)
    return f"### Instruction:\n{asked}\n\n### Response:\n"


def with_passage(before: str, passage: Mapping[str, str]) -> str:
    """Return what comes before the answer from a passage, none of whose text is a token or a tag."""
    return f"{before}[Retrieval]<paragraph>{_plain(passage['title'])}\n{_plain(passage['text'])}</paragraph>"


def _plain(text: str) -> str:
    return _LOOKS_LIKE_ONE.sub("(", escape(text))


def worth(written: TokenLogprobs, group: Mapping[str, float], missing: float = 0.0) -> float:
    """Average what a group's tokens are worth by their probabilities where the first of them stands, if one does."""
    for token in written.tokens:
        if token.text.strip() in group:
            likely = {name.strip(): math.exp(each) for name, each in ({token.text: token.logprob} | token.top).items()}
            total = sum(likely.get(name, 0.0) for name in group)
            return sum(value * likely.get(name, 0.0) for name, value in group.items()) / total if total else missing
    return missing


def likelihood(written: TokenLogprobs) -> float:
    """Return the geometric mean of the tokens' probabilities, in [0, 1]; 0.0 without any."""
    return math.exp(written.total / len(written.tokens)) if written.tokens else 0.0


def plain_text(written: TokenLogprobs) -> str:
    """Return what is written, without reflection tokens."""
    return _WRITTEN.sub("", "".join(token.text for token in written.tokens)).strip()
