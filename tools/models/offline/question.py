"""What a question asks for: the kind of answer, the asked-for noun, the options, the names."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from hopgraph.tools.models.offline.statements import (
    WORD,
    class_words,
    fold,
    in_class,
    key,
    names,
    relations,
    term,
    terms,
)

AnswerKind = Literal["person", "place", "country", "date", "number", "work", "group", "thing", "yes_no"]
_CLASS_KINDS: tuple[tuple[str, AnswerKind], ...] = (
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
_COMPARING = frozenset({"large", "old", "young"})  # relations that compare and lead to nothing
_SENTENCE_END = re.compile(r"[.?!] +")
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
        """The names in it, as written, in order; a single first word is none."""
        found = {key(span.text): span.text for span in names(self.text) if span.start or " " in span.text}
        return tuple(found.values())

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words in lower case, without the possessive ending."""
        return tuple(fold(word).removesuffix("'s") for word in WORD.findall(self.text))

    @cached_property
    def _asking(self) -> int:
        """The index of the main question word, -1 without one: at the start, after a preposition, "what" or "how"."""

        def rank(at: int) -> tuple[bool, bool, int]:
            led = at > 0 and self.words[at - 1] in class_words("before_asking")
            return at > led, not (led or self.words[at] in ("what", "how")), -at

        return min((at for at, word in enumerate(self.words) if word in class_words("asking")), key=rank, default=-1)

    @cached_property
    def asking(self) -> str:
        """The main question word; empty without one."""
        return self.words[self._asking] if self._asking >= 0 else ""

    @cached_property
    def noun(self) -> str:
        """The asked-for noun ("medal" in "what medal"), in lower case; empty when there is none."""
        rest = self.words[self._asking + 1 :] if self._asking >= 0 else ()
        if self.asking == "how":
            return rest[1] if rest[0:1] in (("many",), ("much",)) and len(rest) > 1 else ""
        if self.asking not in ("what", "which"):
            return ""
        if rest and rest[0] in class_words("auxiliary"):
            rest = rest[2:] if rest[1:2] and rest[1] in ("the", "a", "an", "his", "her", "its") else rest[1:]
        noun = _head(rest)
        if noun in ("name", "title", "kind", "type") and "of" in rest:
            rest = rest[rest.index("of") + 1 :]
            noun = _head(rest[1:] if rest[0:1] in (("the",), ("a",)) else rest) or noun
        return noun

    @cached_property
    def kind(self) -> AnswerKind:
        """The kind of answer that is asked for; the main question word decides most."""
        openings = {*self.words[:1], key(_SENTENCE_END.split(self.text.strip())[-1]).partition(" ")[0]}
        if not self.options and not openings.isdisjoint(class_words("auxiliary")):
            return "yes_no"
        if self.asking == "how" and self.words[self._asking + 1 : self._asking + 2] in (("did",), ("is",), ("do",)):
            return "thing"
        if self.asking in _WORD_KINDS:
            return _WORD_KINDS[self.asking]
        if term(self.noun) == "nationality":
            return "country"
        kinds: list[AnswerKind] = [kind for name, kind in _CLASS_KINDS if self.noun and in_class(self.noun, name)]
        return kinds[0] if kinds else "thing"

    @cached_property
    def options(self) -> tuple[str, str] | tuple[()]:
        """The two options of "A or B"; empty when there are none."""
        text = self.text[-400:].rstrip(" ?")
        left, _, right = text.rpartition(" or ")
        first = ""
        compared = not class_words("comparing").isdisjoint(self.words)
        if left and (right.removeprefix("the ")[:1].isupper() or (compared and right.startswith("the "))):
            start = max(left.rfind(", "), left.rfind(": "), left.rfind("? ")) + 2
            first = left[start:] if start > 1 else next((span.text for span in reversed(names(left))), "")
        first, second = first.strip(' ",?'), _OPTION_END.split(right, maxsplit=1)[0].strip(' ",')
        return (first, second) if first and second else ()

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations that it names, as terms."""
        return self.terms & frozenset(relations().values())

    @cached_property
    def hops(self) -> int:
        """How many links the question seems to need, from 1 to 3: one for each relation that it names."""
        in_names = frozenset[str]().union(*map(terms, self.names))
        return max(1, min(3, len(self.relations - in_names - _COMPARING)))


def _head(words: tuple[str, ...]) -> str:
    """Return the last content word of the noun phrase at the start of `words`; empty without one."""
    head = ""
    for word in words[:6]:
        ended = head and (word.endswith("ed") or in_class(head, *dict(_CLASS_KINDS)))
        if in_class(word, "stop", "auxiliary") or ended:
            break
        head = word
    return head


read_question = lru_cache(maxsize=512)(Question)
"""Reads a question; any text gives one."""
