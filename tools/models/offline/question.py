"""What a question asks for: the kind of answer, the asked-for noun, the options, the names."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from hopgraph.tools.models.offline.lexicon import class_words, in_class, relations
from hopgraph.tools.models.offline.spans import names
from hopgraph.tools.models.offline.terms import WORD, fold, key, term, terms

AnswerKind = Literal["person", "place", "country", "date", "number", "work", "group", "thing", "yes_no"]
_CLASSES: tuple[tuple[str, AnswerKind], ...] = (
    ("person", "person"),
    ("date", "date"),
    ("number", "number"),
    ("place", "place"),
    ("place_name", "place"),
    ("work", "work"),
    ("group", "group"),
)
_WORD_KINDS: dict[str, AnswerKind] = {
    "who": "person",
    "whom": "person",
    "whose": "person",
    "when": "date",
    "where": "place",
    "how": "number",
}
_QUALITIES = frozenset({"large", "old", "young"})
"""Relations that compare and lead to nothing."""
_BREAK = re.compile(r"[.?!:,] +")
_BETWEEN = re.compile(r"\b(?:between|among|of) (.{2,150}) and (.{2,150})$")
_OPTION_END = re.compile(r" (?:was|is|has|had|born|died|the (?:older|younger)|first\b)")


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
        """The names in it, as they stand there, in order; a single first word is none."""
        found = {key(span.text): span.text for span in names(self.text) if span.start or " " in span.text}
        return tuple(found.values())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words in lower case, without the possessive ending."""
        return tuple(fold(word) for word in WORD.findall(self.text))

    @cached_property
    def _asking(self) -> int:
        """The index of the main question word, -1 without one.

        A question word that opens the text or a sentence counts most; then "what" and "how", and one after a
        preposition ("in which"), since a bare "who" or "which" inside a sentence only adds a clause.
        """
        starts = {len(WORD.findall(self.text[: found.end()])) for found in _BREAK.finditer(self.text)}
        best, at = 0, -1
        for place, word in enumerate(self.words):
            base = word.removesuffix("'s")
            if base not in class_words("asking"):
                continue
            led = place > 0 and self.words[place - 1] in class_words("before_asking")
            value = 1 + 2 * (base in ("what", "how")) + 2 * led + (base == "which" and led)
            value += 6 * (place == 0) + 2 * (place in starts and base != "which") + 2 * (place == 1 and led)
            value += place == len(self.words) - 1
            if value > best or (value == best and base in ("what", "which")):
                best, at = value, place
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
            return rest[1] if rest[0:1] in (("many",), ("much",)) and len(rest) > 1 else ""
        if self.asking not in ("what", "which"):
            return ""
        if rest and rest[0] in class_words("auxiliary"):
            rest = rest[1:]
            rest = rest[1:] if rest[:1] and rest[0] in ("the", "a", "an", "his", "her", "its") else rest
        return _head(rest)

    @cached_property
    def _described(self) -> str:
        """The noun after "kind of", "name of" and the like when that is asked for; else empty."""
        told = re.search(rf"\b{re.escape(self.noun)}s? of (?:the |an? )?(.*)", " ".join(self.words))
        return _head(tuple(told[1].split())) if self.noun and told else ""

    @cached_property
    def rest(self) -> frozenset[str]:
        """The terms of the asked-for noun and of what it describes."""
        return frozenset(filter(None, (term(self.noun), term(self._described))))

    @cached_property
    def kind(self) -> AnswerKind:
        """The kind of answer that is asked for; the main question word decides most."""
        last = key(re.split(r"[.?!] +", self.text.strip())[-1]).split(" ")
        if not self.options and class_words("auxiliary").intersection((*self.words[:1], last[0])):
            return "yes_no"
        if self.asking == "how" and self.words[self._asking + 1 : self._asking + 2] in (("did",), ("is",), ("do",)):
            return "thing"
        return _WORD_KINDS.get(self.asking) or self._noun_kind()

    def _noun_kind(self) -> AnswerKind:
        noun = self.noun
        if self._described and noun in ("date", "place", "year", "day"):
            return "place" if noun == "place" else "date"
        if self._described and noun in ("name", "title", "names"):
            noun = self._described
        if term(noun) == "nationality":
            return "country"
        kinds: list[AnswerKind] = [kind for name, kind in _CLASSES if noun and in_class(noun, name)]
        return kinds[0] if kinds else "thing"

    @cached_property
    def options(self) -> tuple[str, str] | tuple[()]:
        """The two options of "A or B" (or of a comparison "between A and B"); empty when there are none."""
        text = self.text[-400:].rstrip(" ?")
        left, _, right = text.rpartition(" or ")
        first = ""
        compared = not class_words("comparing").isdisjoint(self.words)
        if left and (right.removeprefix("the ")[:1].isupper() or (compared and right.startswith("the "))):
            start = max(left.rfind(", "), left.rfind(": "), left.rfind("? ")) + 2
            first = left[start:] if start > 1 else next((span.text for span in reversed(names(left))), "")
        elif compared and (pair := _BETWEEN.search(text)):
            first, right = pair[1], pair[2]
        first, second = first.strip(' ",?'), _OPTION_END.split(right, maxsplit=1)[0].strip(' ",')
        return (first, second) if first and second else ()

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations that it names, as terms."""
        return self.terms & frozenset(relations().values())

    @cached_property
    def hops(self) -> int:
        """How many links the question seems to need, from 1 to 3: one for each relation that it names."""
        named = {relations()[word] for word in WORD.findall(self.text) if word in relations()}
        return max(1, min(3, len(named - _QUALITIES)))


def _head(words: tuple[str, ...]) -> str:
    """Return the last content word of the noun phrase at the start of `words`; empty without one."""
    head = ""
    for word in words[:6]:
        ended = head and (word.endswith("ed") or in_class(head, "person", "place", "date", "number", "work", "group"))
        if in_class(word, "stop", "auxiliary") or ended:
            break
        head = "" if word.endswith("'s") else word
    return head


@lru_cache(maxsize=512)
def read_question(text: str) -> Question:
    """Read a question; any text gives one."""
    return Question(text)
