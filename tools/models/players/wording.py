"""Words, names and standalone statements, shared by the players."""

import re
from functools import lru_cache
from unicodedata import combining, normalize

from hopgraph.tools.text.analyzer import once_per_passage
from hopgraph.tools.text.common_words import FUNCTION_WORDS

WORD = re.compile(r"[^\W_]+(?:[-'\u2019.&/][^\W_]+)*")
"""A word; its separators are not letters, so matching is linear."""
FUNCTION = frozenset(FUNCTION_WORDS.split())
_PARTICLES = "of the de von van der den la le du da dos al el ibn bin di del y e"
_INNER = frozenset(_PARTICLES.split())
"""Lower-case words within names."""
_BEFORE_DOT = frozenset({"jr", "sr", "dr", "st", "mr", "mrs", "ms", "lt", "col", "gen", "no", "prof"})


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Return a word in lower case, without accents."""
    low = word.lower().replace("\u2019", "'")
    return low if low.isascii() else "".join(c for c in normalize("NFKD", low) if not combining(c))


@once_per_passage
def key(text: str) -> str:
    """Normalize a text for comparison: folded words with single spaces."""
    return " ".join(fold(word) for word in WORD.findall(text))


@lru_cache(maxsize=4_096)
def find_names(text: str) -> tuple[tuple[int, str], ...]:
    """Return (offset, name) for each run of capitalized words; leading articles are not part of it."""
    runs: list[list[re.Match[str]]] = []
    for word in WORD.finditer(text):
        upper = word[0][0].isupper()
        if runs and (upper or word[0][0].isdigit() or word[0] in _INNER) and _adjoins(text, runs[-1][-1], word):
            runs[-1].append(word)
        elif upper and (fold(word[0]) not in FUNCTION or text.startswith(". ", word.end())):
            runs.append([word])
    found: list[tuple[int, str]] = []
    for run in runs:
        while run[-1][0] in _INNER:
            run.pop()
        name = re.sub(r"['\u2019]s$", "", text[run[0].start() : run[-1].end()])
        found.append((run[0].start(), name))
    return tuple(found)


def _adjoins(text: str, last: re.Match[str], word: re.Match[str]) -> bool:
    """Return whether a word continues a name; a period may follow an initial or an abbreviation such as "Dr."."""
    gap = text[last.end() : word.start()]
    if last[0].endswith(("'s", "\u2019s")) and word[0][0].islower():
        return False
    return gap in (" ", " & ") or (gap == ". " and (len(last[0]) == 1 or fold(last[0]) in _BEFORE_DOT))


def make_standalone(title: str, sentence: str) -> str:
    """Return a sentence as a standalone statement, prefixed with its title unless it starts with that."""
    sentence = " ".join(sentence.split())
    return sentence if not title or f"{key(sentence)} ".startswith(f"{key(title)} ") else f"{title}: {sentence}"
