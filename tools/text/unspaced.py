"""Words of writing that puts no spaces between them: Chinese, Japanese, Korean and Thai.

Overlapping pairs of characters (bigrams) need no dictionary, never miss a name that a dictionary lacks, and
are what Lucene's CJKAnalyzer does; they are in the core. Dictionary tokenisers, behind the extra
`languages`, find fewer passages by accident and make a smaller vocabulary.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from threading import Lock
from typing import Any

from hopgraph.state import SpecError

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana, repetition marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul: spaced, but its words carry their grammar at their ends
)
"""Character ranges of a regular expression's set."""
SPACED_WORD = rf"[^\W{UNSPACED}][^\W{UNSPACED}]+"
"""Two or more letters or digits of other scripts."""

_PACKAGES = {
    "rjieba": ("rjieba",),
    "sudachipy": ("sudachipy", "sudachidict_core"),
    "pythainlp": ("pythainlp",),
}
"""Tokeniser → the packages whose versions decide what it finds."""

_LONGEST = 10_000
"""Characters that a tokeniser sees at a time; SudachiPy takes 49,149 bytes at most."""
_GRAMMAR = ("助詞", "助動詞", "補助記号", "空白")
"""Japanese particles, auxiliary verbs and marks, which Lucene's JapaneseAnalyzer leaves out, too."""

Splitter = Callable[[str], list[str]]


def make_splitter(tokeniser: str, word_pattern: str) -> Splitter:
    """Make what splits a text into words: unspaced stretches by a tokeniser, the rest by a pattern.

    The tokeniser is `bigrams`, or a package of the extra `languages`; the pattern must match none of UNSPACED.

    Raises:
        SpecError: its package is not installed.
    """
    split = _bigrams if tokeniser == "bigrams" else _dictionary_splitter(tokeniser)
    find = re.compile(f"([{UNSPACED}]+)|({word_pattern})").findall

    def words(text: str) -> list[str]:
        return list(chain.from_iterable(split(run) if run else (word,) for run, word in find(text)))

    return words


def tokeniser_version(tokeniser: str) -> str:
    """Return the versions of a tokeniser's packages, empty for bigrams; SpecError where one is not installed."""
    try:
        return ", ".join(f"{name} {version(name)}" for name in _PACKAGES.get(tokeniser, ()))
    except PackageNotFoundError:
        raise _missing(tokeniser) from None


def _bigrams(run: str) -> list[str]:
    """Return each two neighbours; a character that stands alone is a word."""
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]


@cache
def _dictionary_splitter(tokeniser: str) -> Splitter:
    try:
        split = {"rjieba": _rjieba, "sudachipy": _sudachipy, "pythainlp": _pythainlp}[tokeniser]()
    except ImportError:
        raise _missing(tokeniser) from None
    lock = Lock()

    def words(run: str) -> list[str]:
        with lock:  # none of them says that threads may share it
            return [word for start in range(0, len(run), _LONGEST) for word in split(run[start : start + _LONGEST])]

    return words


def _missing(tokeniser: str) -> SpecError:
    names = " and ".join(_PACKAGES[tokeniser])
    return SpecError(f"the tokeniser {tokeniser} needs {names}: pip install 'hopgraph[languages]'")


# The packages have no type stubs.


def _rjieba() -> Splitter:
    """Cut for search: a compound's parts, too, so that 大学 finds 北京大学."""
    # One of our own: an application may add words to the package's.
    return import_module("rjieba").Jieba().cut_for_search


def _sudachipy() -> Splitter:
    """Cut into the shortest units, in their dictionary's spelling: 食べた and たべる are both 食べる."""
    sudachipy = import_module("sudachipy")
    import_module("sudachidict_core")
    tokenizer: Any = sudachipy.Dictionary(dict="core").tokenizer(sudachipy.SplitMode.A)

    def split(run: str) -> list[str]:
        found: Any = tokenizer.tokenize(run)
        return [each.normalized_form().lower() for each in found if each.part_of_speech()[0] not in _GRAMMAR]

    return split


def _pythainlp() -> Splitter:
    """Cut by dictionary and maximal matching (newmm), which needs no download."""
    word_tokenize: Callable[..., list[str]] = import_module("pythainlp.tokenize").word_tokenize
    return lambda run: word_tokenize(run, engine="newmm", keep_whitespace=False)
