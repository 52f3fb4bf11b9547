"""What a question asks for: the kind of answer, the asked-for noun, the options, the names."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from hopgraph.tools.models.offline.lexicon import in_class, relations
from hopgraph.tools.models.offline.spans import Span, names
from hopgraph.tools.models.offline.terms import WORD, key, term, terms

AnswerKind = Literal["person", "place", "country", "date", "number", "work", "group", "thing", "yes_no"]
_AUXILIARY = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "can",
        "could",
        "will",
        "would",
        "am",
        "be",
        "should",
        "may",
    ]
)
_ASKING = frozenset(["who", "whom", "whose", "what", "which", "where", "when", "how"])
_BEFORE = frozenset(
    [
        "in",
        "on",
        "at",
        "of",
        "for",
        "by",
        "to",
        "from",
        "with",
        "into",
        "under",
        "is",
        "was",
        "are",
        "were",
        "during",
        "the",
        "and",
        "name",
    ]
)
_CLASSES: tuple[tuple[str, AnswerKind], ...] = (
    ("person", "person"),
    ("date", "date"),
    ("number", "number"),
    ("place", "place"),
    ("place_name", "place"),
    ("work", "work"),
    ("group", "group"),
)
_KIND_WORDS = frozenset(["kind", "type", "sort", "form", "genre", "part", "name", "term", "title"])
_COMPARING = re.compile(
    r"\b(?:first|earlier|later|last|older|younger|oldest|more|most|larger|longer|higher|recently)\b"
)


@dataclass(frozen=True)
class Question:
    """A question as the offline model understands it."""

    text: str

    @cached_property
    def terms(self) -> frozenset[str]:
        """Its content terms."""
        return terms(self.text)

    @cached_property
    def flat(self) -> str:
        """Its lower-case words, each between spaces."""
        return f" {key(self.text)} "

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, as keys, in order."""
        found = (key(span.text) for span in names(self.text) if span.start or " " in span.text)
        return tuple(dict.fromkeys(found))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words in lower case."""
        return tuple(word.lower().replace("’", "'") for word in WORD.findall(self.text))

    @cached_property
    def _asking(self) -> int:
        """The index of the main question word, -1 without one: the first word of a sentence, else the best placed."""
        best, at = 0, -1
        starts = {0} | {len(WORD.findall(self.text[: m.end()])) for m in re.finditer(r"[.?!:,] +", self.text)}
        for place, word in enumerate(self.words):
            base = word.removesuffix("'s")
            if base not in _ASKING:
                continue
            before = self.words[place - 1] if place else ""
            score = (
                1 + 2 * (base in ("what", "how")) + 2 * (before in _BEFORE) + (base == "which" and before in _BEFORE)
            )
            score += 6 * (place == 0) + 2 * (place in starts and base != "which" and place > 0)
            score += 2 * (place == 1 and before in _BEFORE) + (place == len(self.words) - 1)
            if score > best or (score == best and base in ("what", "which")):
                best, at = score, place
        return at

    @cached_property
    def asking(self) -> str:
        """The main question word; empty without one."""
        return self.words[self._asking].removesuffix("'s") if self._asking >= 0 else ""

    @cached_property
    def lead(self) -> str:
        """The last content term before the main question word, or of a question without one; empty if it opens."""
        before = self.words[: self._asking] if self._asking >= 0 else self.words
        return next(filter(None, (term(word) for word in reversed(before[-3:]))), "")

    @cached_property
    def noun(self) -> str:
        """The asked-for noun ("medal" in "what medal"), in lower case; empty when there is none."""
        rest = self.words[self._asking + 1 :] if self._asking >= 0 else ()
        if self.asking == "how":
            return rest[1] if rest[:1] in (("many",), ("much",)) and len(rest) > 1 else ""
        if self.asking not in ("what", "which"):
            return ""
        if rest and rest[0] in _AUXILIARY:
            rest = rest[1:]
            if rest[:1] and rest[0] in ("the", "a", "an", "his", "her", "its"):
                rest = rest[1:]
        return _head(rest)

    @cached_property
    def _described(self) -> str:
        """The noun after "kind of", "name of" and the like when that is asked for."""
        match = (
            re.search(rf"\b{re.escape(self.noun)}s? of (?:the |an? )?(.*)", " ".join(self.words)) if self.noun else None
        )
        return _head(tuple(match[1].split())) if match else ""

    @cached_property
    def kind(self) -> AnswerKind:
        """The kind of answer that is asked for; the main question word decides most."""
        last = key(re.split(r"[.?!] +", self.text.strip())[-1]).split(" ")
        if not self.options and _AUXILIARY.intersection((*self.words[:1], last[0])):
            return "yes_no"
        if self.asking in ("who", "whom", "whose"):
            return "person"
        if self.asking in ("when", "where"):
            return "date" if self.asking == "when" else "place"
        if self.asking == "how":
            return (
                "thing"
                if self.words[self._asking + 1 : self._asking + 2] in (("did",), ("is",), ("does",), ("do",))
                else "number"
            )
        return self._noun_kind(self.noun)

    def _noun_kind(self, noun: str) -> AnswerKind:
        described = self._described
        if described and noun in ("date", "place", "year", "day"):
            return "place" if noun == "place" else "date"
        if described and noun in ("name", "title", "names"):
            noun = described
        if noun in ("nationality", "country", "countries", "citizenship", "nation"):
            return "country"
        return next((kind for name, kind in _CLASSES if noun and in_class(noun, name)), "thing")

    @cached_property
    def options(self) -> tuple[str, str] | tuple[()]:
        """The two options of "A or B" (or "between A and B"); empty when there are none."""
        text = self.text[-400:].rstrip(" ?")
        between = (
            re.search(r"\b(?:between|among|of) (.{2,150}) and (.{2,150})$", text) if _COMPARING.search(text) else None
        )
        left, _, right = text.rpartition(" or ")
        if left and right[:1].isupper():
            start = max(left.rfind(", "), left.rfind(": "), left.rfind("? ")) + 2
            first = left[start:] if start > 1 else (names(left) or [Span("", 0, "name")])[-1].text
            return (first.strip(' ",'), _leading(right)) if first.strip(' ",') else ()
        return (between[1].strip(' ",'), _leading(between[2])) if between else ()

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations that it names, as terms."""
        return self.terms & frozenset(relations().values())

    @cached_property
    def hops(self) -> int:
        """How many links the question seems to need, from 1 to 3: one for each relation that it names."""
        named = {relations()[word] for word in WORD.findall(self.text) if word in relations()}
        return max(1, min(3, len(named)))

    @cached_property
    def rest(self) -> frozenset[str]:
        """Terms of the asked-for noun."""
        return frozenset(filter(None, (term(self.noun), term(self._described)))) if self.noun else frozenset()


def _leading(text: str) -> str:
    """Return an option without the question's last words ("born first")."""
    return re.split(r" (?:was|is|has|had|born|died|the (?:older|younger)|first\b)", text, maxsplit=1)[0].strip(' ",')


def _head(words: tuple[str, ...]) -> str:
    """Return the last content word of the noun phrase at the start of `words`."""
    head = ""
    for word in words[:6]:
        if in_class(word, "stop") or word in _AUXILIARY:
            break
        if head and (word.endswith("ed") or in_class(head, "person", "place", "date", "number", "work", "group")):
            break
        head = word
        if word.endswith("'s"):
            head = ""
    return head


@lru_cache(maxsize=512)
def read_question(text: str) -> Question:
    """Read a question; any text gives one."""
    return Question(text)
