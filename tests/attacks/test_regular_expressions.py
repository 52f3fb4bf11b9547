"""Regular expressions take time that grows with their text, whatever the text is.

Processor time is compared between a text and one eight times as long, so that a busy machine does not matter: where it
grows linearly the ratio is 8, where quadratically 64.
"""

import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from pydantic import BaseModel

from hopgraph.tools.models import UnusableReplyError, parse_reply
from hopgraph.tools.prompts import format_block
from hopgraph.tools.scoring.entailment.local import split_windows
from hopgraph.tools.text import split_sentences
from hopgraph.tools.text.sanitize import sanitize_line

SHORT, LONG = 1_000, 8_000
WORTH_COMPARING = 0.02
"""Seconds: what the long text takes less is no danger, and too little to compare."""
QUADRATIC = 24
HOW = {
    "_LAST_TAG": "match",
    "_DIRECTIVE": "match",
    "_DURATION": "fullmatch",
    "_HEADER": "fullmatch",
    "_PLAIN_NUMBER": "fullmatch",
    "_PROSE_DIRECTIVE": "match",
    "_TABLE_RULE": "fullmatch",
    "_NUMERAL": "fullmatch",
    "_ACTION": "match",
    "_ABSTAINS": "match",
    "_JUDGEMENT": "match",
    "_NOT_AN_OPENING": "match",
    "_WIKIPEDIA_PARAGRAPH": "fullmatch",
    "_ANSWER": "fullmatch",
    "_MODULE": "fullmatch",
    "_RULE": "fullmatch",
    "_FILE": "fullmatch",
    "_POINTS_BACK": "match",
    "_UNIT": "match",
    "_FRAMED": "match",
    "_NAMED_VALUE": "match",
    "_CODE_DIRECTIVE": "match",
    "_NUMBER_CELL": "fullmatch",
    "_MEASURE": "fullmatch",
    "_SKIPPED": "match",
}
"""Patterns that never search: what the product calls instead."""
BOUNDED = {
    "_LAST_WORD": "the characters before a sentence's end",
    "_MACHINE_VALUE": "the first 200 characters of a field",
    "_PAGE_MARKUP": "the first 5,000 characters of a page",
    "_SPEC": "an option on the command line",
}
"""What other patterns meet, which is short."""


class Answer(BaseModel):
    answer: str


def seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def growth(work: Callable[[str], object], make: Callable[[int], str]) -> float:
    """Return how many times as long the long text takes; 0 where it takes next to nothing."""

    def fastest(length: int) -> float:
        return min(seconds(lambda n=length + more: work(make(n))) for more in range(3))  # a new text: some are cached

    if seconds(lambda: work(make(LONG - 1))) < WORTH_COMPARING or (slow := fastest(LONG)) < WORTH_COMPARING:
        return 0
    return slow / max(fastest(SHORT), 1e-6)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the patterns that are compiled as constants of a module, with their names."""
    for top in ("graphs", "nodes", "state", "tools"):
        package = importlib.import_module(f"hopgraph.{top}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                module = importlib.import_module(found.name)
            except ImportError:  # an extra that is not installed
                continue
            for name, value in vars(module).items():
                each = value if isinstance(value, tuple | list) else [value]
                yield from ((name, one) for one in each if isinstance(one, re.Pattern) and isinstance(one.pattern, str))


def worst_texts(pattern: str) -> Iterator[Callable[[int], str]]:
    """Yield texts of a length: a beginning from the pattern, a repeated part, and an end that fits nothing."""
    literals = re.findall(r"[^\\\[\](){}?*+|^$.\s]+|[ `#(\[<\"']+", pattern)
    beginnings = ["", *dict.fromkeys([*literals, *(f"{each} 1" for each in literals[:3])])][:8]
    parts = list(dict.fromkeys([" ", "\n", "a", "A", "1", "a ", "1 ", *[each[0] for each in literals]]))[:14]
    for beginning, part, end in itertools.product(beginnings, parts, ("", "\0")):
        yield lambda n, b=beginning, p=part, e=end: b + p * (n // len(p)) + e


@pytest.mark.slow
def test_every_pattern_is_linear() -> None:
    seen = {pattern: name for name, pattern in patterns() if name not in BOUNDED}
    assert len(seen) > 50
    slow = {
        (name, pattern.pattern, make(24))
        for pattern, name in seen.items()
        for make in worst_texts(pattern.pattern)
        if growth(getattr(pattern, HOW.get(name, "findall")), make) > QUADRATIC
    }
    assert not slow


@pytest.mark.parametrize(
    "text",
    ["```" + "a" * LONG, "```a " + "\t " * (LONG // 2), "<think>" * (LONG // 7), '{"a' * (LONG // 3), "`" * LONG],
    ids=lambda text: text[:6],
)
def test_a_reply_is_read_in_linear_time(text: str) -> None:
    def read(reply: str) -> None:
        with suppress(UnusableReplyError):
            parse_reply(reply, Answer)

    assert growth(read, lambda n: text[: 6 + n]) < QUADRATIC


@pytest.mark.parametrize("part", ["\n", " ", "\x90", "\x9b0", "a", "a.", "<", "&amp;", "Jan 1 "], ids=ascii)
@pytest.mark.parametrize(
    "work",
    [
        sanitize_line,
        split_sentences,
        lambda text: format_block("text", text),
        lambda text: split_windows(text, sizes, 9),
    ],
    ids=["sanitize_line", "split_sentences", "format_block", "split_windows"],
)
def test_untrusted_text_is_read_in_linear_time(work: Callable[[str], object], part: str) -> None:
    assert growth(work, lambda n: part * (n // len(part))) < QUADRATIC


def sizes(texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


def test_a_reply_beyond_any_use_is_cut() -> None:
    with pytest.raises(UnusableReplyError, match="contains no JSON object"):
        parse_reply("x" * 300_000 + '{"answer": "late"}', Answer)
    assert parse_reply(f'<think>{"x" * 300_000}</think>{{"answer": "thought"}}', Answer).answer == "thought"
    assert parse_reply('{"answer": "early"}' + "x" * 300_000, Answer).answer == "early"
