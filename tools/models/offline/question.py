"""Analysis of a question: the kind of answer, the asked-for noun, the options, and what it describes."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hopgraph.tools.models.offline.statements import terms
from hopgraph.tools.models.players.wording import FUNCTION, WORD, fold, key, names

_ASKING = frozenset(("who", "whom", "whose", "what", "which", "where", "when", "how"))
_ARTICLES = ("the", "a", "an")
_VERBS = frozenset(
    ("is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "can", "could", "will", "would", "may")
)
_KINDS = (
    ("date", r"year|date|day|month|century|decade|birthday|deadline"),
    ("number", r"number|population|percentage|amount|height|length|size|age|price|cost|rate|area|limit|budget|salary"),
    ("place", r"city|country|state|county|town|village|capital|region|province|continent|island|place|location"),
    ("person", r"\w+(?:er|or|ist|ian|ress)|king|queen|president|mother|father|wife|husband|spouse|son|child|head"),
)
_KIND_OF_WORD = {
    **dict.fromkeys(("who", "whom", "whose"), "person"),
    "when": "date",
    "where": "place",
    "how": "number",
}
_ORDER = re.compile(r"\b(?:before|after|than)\b")
_COMPARING = re.compile(r"\b(?:first|earlier|last|later|older|younger|oldest|more|most|larger|longer|recently)\b")
_LATEST = re.compile(r"\b(?:after|later|last|younger|youngest|recently|newer)\b")
_AGE = re.compile(r"\b(?:old|young)(?:er|est)\b")
_DESCRIBED = re.compile(r"\bthe (?:[\w-]{1,30} ){0,2}?(?P<noun>[a-z-]{3,30}) (?:of|(?P<clause>who|that|which|whose)) ")
_OWNED = re.compile(r"['\u2019]s? (?:[a-z-]{3,20} ){0,2}?([a-z-]{3,20})\b")
_WHAT_IS = re.compile(r"^(?:who|what|which) (?:is|are|was|were) ", re.IGNORECASE)
_SAME = re.compile(r"\b(?:same|share|shared)\b (?:the )?(?:same )?(\w+)|\bcountry of origin\b")
_CLAUSE_END = re.compile(r" (?:born|die|died|buried|was|is|were|did|does|has|have)\b|[?,]")
_NOTE = re.compile(r" \([^()\n]{1,60}\)")
_MAKER = re.compile(r"\b(director|composer|performer|writer|author|producer|founder|designer)s?\b|\b(direct)ed\b")
_MAX_CHARACTERS = 1_000


def kind_of_noun(noun: str) -> str:
    """Return what a noun names: date, number, place or person; empty for any other."""
    single = re.sub(r"ies$", "y", noun).removesuffix("s")
    return next((kind for kind, form in _KINDS if re.fullmatch(form, single) or re.fullmatch(form, noun)), "")


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
    def words(self) -> tuple[str, ...]:
        """Its words in lower case, without the possessive ending."""
        return tuple(fold(word).removesuffix("'s") for word in WORD.findall(self.text))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, as written, in order; a single first word is none."""
        return tuple({key(name): name for at, name in names(self.text) if at or " " in name}.values())

    @cached_property
    def _asking(self) -> int:
        """The index of the main question word: the first, or "what" or "which" wherever it is; -1 without one."""
        asking = [at for at, word in enumerate(self.words) if word in _ASKING]
        early = [at for at in asking if at < 3]
        main = (at for at in early or asking if at == 0 or self.words[at] in ("what", "which", "how"))
        return next(main, min(asking, default=-1))

    @cached_property
    def asking(self) -> str:
        """The main question word; empty without one."""
        return self.words[self._asking] if self._asking >= 0 else ""

    @cached_property
    def noun(self) -> str:
        """The asked-for noun ("medal" in "what medal"), in lower case; empty when there is none."""
        rest = self.words[self._asking + 1 :] if self._asking >= 0 else ()
        if self.asking == "how":
            return rest[1] if rest[:1] in (("many",), ("much",)) and len(rest) > 1 else ""
        if self.asking not in ("what", "which"):
            return ""
        if rest and rest[0] in _VERBS:
            rest = rest[2:] if rest[1:2] and rest[1] in (*_ARTICLES, "his", "her", "its") else rest[1:]
        head = _head(rest)
        if head in ("name", "title", "kind", "type") and "of" in rest:
            rest = rest[rest.index("of") + 1 :]
            head = _head(rest[1:] if rest[:1] in (("the",), ("a",)) else rest) or head
        return head

    @cached_property
    def kind(self) -> str:
        """The kind of answer: yes_no, person, place, date, number or thing."""
        last = key(re.split(r"[.?!] +", self.text.strip())[-1]).partition(" ")[0]
        if not self.options and not {*self.words[:1], last}.isdisjoint(_VERBS):
            return "yes_no"
        if self.asking == "how" and self.words[self._asking + 1 : self._asking + 2] in (("did",), ("is",), ("do",)):
            return "thing"
        return _KIND_OF_WORD.get(self.asking) or kind_of_noun(self.noun) or "thing"

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The two options of "A or B"; empty when there are none."""
        left, _, right = self.text[-400:].rstrip(" ?").rpartition(" or ")
        if not left or not (right.removeprefix("the ")[:1].isupper() or (self.compares and right.startswith("the "))):
            return ()
        start = max(left.rfind(", "), left.rfind(": "), left.rfind("? ")) + 2
        first = left[start:] if start > 1 else next((name for _, name in reversed(names(left))), "")
        second = re.split(r" (?:was|is|has|had|born|died|first\b)", right, maxsplit=1)[0]
        return (first.strip(' ",?'), second.strip(' ",')) if first.strip(' ",?') and second.strip(' ",') else ()

    @cached_property
    def compares(self) -> bool:
        """Return whether it says which of several comes first or last."""
        return bool(_COMPARING.search(self.text.lower()))

    @cached_property
    def orders(self) -> bool:
        """Return whether it asks if one thing comes before or after another."""
        return bool(_ORDER.search(self.text.lower()))

    @cached_property
    def wants_latest(self) -> bool:
        """Return whether the later of two dates decides it."""
        return bool(_LATEST.search(self.text.lower()))

    @cached_property
    def compared_fact(self) -> str:
        """The fact that a comparison needs of each side, as "the date of birth"; empty where it compares none."""
        if self.kind == "yes_no" and not self.orders:
            same = _SAME.search(self.text.lower())
            noun = (same[1] or "country") if same else ""
            return "the country" if noun in ("nationality", "nation") else f"the {noun}" if noun else ""
        if not self.compares and not self.orders:
            return ""
        if "die" in self.terms:
            return "the date of death"
        of_people = self.asking == "who" or self.maker or "born" in self.terms or _AGE.search(self.text)
        return "the date of birth" if of_people else "the date"

    @cached_property
    def maker(self) -> str:
        """The role whose holders are compared, such as "director"; empty where the works themselves are compared."""
        found = _MAKER.search(self.text)
        return "" if not found else "director" if found[2] else found[1]


def _head(words: tuple[str, ...]) -> str:
    """Return the last content word of the noun phrase at the start of `words`; empty without one."""
    head = ""
    for word, after in zip(words[:6], [*words[1:7], ""], strict=False):
        verb = word.endswith("ed") or (word.endswith("s") and after in _ARTICLES)  # "team maintains the …"
        if word in FUNCTION or word in _VERBS or (head and (verb or kind_of_noun(head))):
            break
        head = word
    return head


read_question = lru_cache(maxsize=512)(Question)
"""Reads a question; any text gives one."""


def described(question: str) -> dict[str, str]:
    """Map what a question describes instead of naming, innermost first, to the question for who or what that is.

    As in "the mother of the author of X", "X's father" and "the astronomer who discovered X". At most the question's
    first thousand characters are read.
    """
    question = question[:_MAX_CHARACTERS]
    every, nouns = names(question), dict[str, str]()
    for match in reversed(list(_DESCRIBED.finditer(question))):
        named = next((at + len(name) for at, name in every if at >= match.end()), match.end())
        if (named == match.end() and not match["clause"]) or kind_of_noun(match["noun"]) in ("date", "number", "place"):
            continue
        aside = _NOTE.match(question, named)
        end = aside.end() if aside else named
        if match["clause"] or _WHAT_IS.match(question):
            ended = _CLAUSE_END.search(question, end) if match["clause"] else None
            end = ended.start() if ended else len(question.rstrip(" ?.!"))
        nouns[question[match.start() : end]] = match["noun"]
    for at, name in every:
        owned = _OWNED.match(question, at + len(name))
        if owned and kind_of_noun(owned[1]) == "person":
            nouns[question[at : owned.end()]] = owned[1]
    rest = _WHAT_IS.sub("", question)
    return {
        text: f"{'Who' if kind_of_noun(noun) == 'person' else 'What'} is {text}?"
        for text, noun in nouns.items()
        if not rest.startswith(text)
    }


def compared_parts(question: Question, sides: list[str], persons: frozenset[str] = frozenset()) -> list[str]:
    """Return the two questions whose answers decide a comparison of two sides; empty when nothing is compared."""
    fact, maker = question.compared_fact, question.maker
    if len(sides) < 2 or not fact or not (question.options or question.kind == "yes_no"):
        return []
    made = [s if not maker or s in persons or f"{maker} of" in s else f"the {maker} of {s}" for s in sides]
    return [f"What is {fact} of {each}?" for each in made]


def split_question(question: str, in_order: bool = False) -> list[str]:
    """Break a question down into simpler ones, the simplest first; empty when its grammar offers none.

    In order, `#1` stands for the answer to the first, and the last asks what is left of the question, or of each side
    that it compares.
    """
    asked = read_question(question)
    compared = compared_parts(asked, list(asked.options or asked.names[:2]))
    steps: dict[str, str] = {}  # what a step answers → the step

    def refer(text: str) -> str:
        for number, phrase in reversed([*enumerate(steps, start=1)]) if in_order else ():
            text = text.replace(phrase, f"#{number}")
        return text

    for part in compared or [question]:
        for phrase, step in described(part).items():
            if phrase not in steps:
                steps[phrase] = refer(step)
    steps |= {part: refer(part) for part in compared or [question]}
    if in_order:
        return [*steps.values()] if len(steps) > 1 else []
    return [step for step in dict.fromkeys(steps.values()) if key(step) != key(question)]
