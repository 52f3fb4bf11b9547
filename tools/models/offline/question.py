"""Analyze questions: answer type, noun asked for, options, and descriptions to resolve."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hopgraph.tools.models.offline.statements import terms
from hopgraph.tools.models.players.wording import FUNCTION, WORD, find_names, fold, key

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
_PARENTHESIS = re.compile(r" \([^()\n]{1,60}\)")
_MAKER = re.compile(r"\b(director|composer|performer|writer|author|producer|founder|designer)s?\b|\b(direct)ed\b")
_MAX_CHARACTERS = 1_000


class Question(NamedTuple):
    """A question as analyzed by the rule-based model."""

    text: str
    words: tuple[str, ...]
    """Words in lower case, without possessive endings."""
    flat: str
    """The text in lower case, with each word between spaces."""
    terms: frozenset[str]
    names: tuple[str, ...]
    """Names as written, in order; a single first word does not count."""
    noun: str
    """The noun asked for ("medal" in "what medal"), in lower case; may be empty."""
    options: tuple[str, ...]
    """The two options in "A or B"; may be empty."""
    kind: str
    """Answer type: yes_no, person, place, date, number or thing."""
    orders: bool
    """True if it asks whether one thing is before or after another."""
    wants_latest: bool
    """True if it asks for the later of two dates."""
    maker: str
    """The role whose holders are compared, e.g. "director"; empty if the works themselves are compared."""
    compared_fact: str
    """The fact that a comparison needs about each side, e.g. "the date of birth"; empty if nothing is compared."""


@lru_cache(maxsize=512)
def read_question(text: str) -> Question:
    """Analyze a question, which may be any text."""
    low, found = text.lower(), terms(text)
    words = tuple(fold(word).removesuffix("'s") for word in WORD.findall(text))
    at = _main_question_word(words)
    asking, rest = (words[at], words[at + 1 :]) if at >= 0 else ("", ())
    noun, compares, orders = _noun(asking, rest), bool(_COMPARING.search(low)), bool(_ORDER.search(low))
    options = _options(text, compares=compares)
    last = key(re.split(r"[.?!] +", text.strip())[-1]).partition(" ")[0]
    if not options and not {*words[:1], last}.isdisjoint(_VERBS):
        kind = "yes_no"
    elif asking == "how" and rest[:1] in (("did",), ("is",), ("do",)):
        kind = "thing"
    else:
        kind = _KIND_OF_WORD.get(asking) or kind_of_noun(noun) or "thing"
    made = _MAKER.search(text)
    maker = "" if not made else "director" if made[2] else made[1]
    if kind == "yes_no" and not orders:
        same = _SAME.search(low)
        shared = (same[1] or "country") if same else ""
        fact = "the country" if shared in ("nationality", "nation") else f"the {shared}" if shared else ""
    elif not compares and not orders:
        fact = ""
    elif "die" in found:
        fact = "the date of death"
    else:
        of_people = asking == "who" or maker or "born" in found or _AGE.search(text)
        fact = "the date of birth" if of_people else "the date"
    return Question(
        text=text,
        words=words,
        flat=f" {key(text)} ",
        terms=found,
        names=tuple({key(name): name for start, name in find_names(text) if start or " " in name}.values()),
        noun=noun,
        options=options,
        kind=kind,
        orders=orders,
        wants_latest=bool(_LATEST.search(low)),
        maker=maker,
        compared_fact=fact,
    )


def _main_question_word(words: Sequence[str]) -> int:
    """Return the index of the main question word; -1 if there is none."""
    asking = [at for at, word in enumerate(words) if word in _ASKING]
    early = [at for at in asking if at < 3]
    main = (at for at in early or asking if at == 0 or words[at] in ("what", "which", "how"))
    return next(main, min(asking, default=-1))


def _noun(asking: str, rest: tuple[str, ...]) -> str:
    if asking == "how":
        return rest[1] if rest[:1] in (("many",), ("much",)) and len(rest) > 1 else ""
    if asking not in ("what", "which"):
        return ""
    if rest and rest[0] in _VERBS:
        rest = rest[2:] if rest[1:2] and rest[1] in (*_ARTICLES, "his", "her", "its") else rest[1:]
    head = _head(rest)
    if head in ("name", "title", "kind", "type") and "of" in rest:
        rest = rest[rest.index("of") + 1 :]
        head = _head(rest[1:] if rest[:1] in (("the",), ("a",)) else rest) or head
    return head


def _head(words: tuple[str, ...]) -> str:
    """Return the head of the noun phrase at the start of `words`; empty if there is none."""
    head = ""
    for word, after in zip(words[:6], [*words[1:7], ""], strict=False):
        verb = word.endswith("ed") or (word.endswith("s") and after in _ARTICLES)  # "team maintains the …"
        if word in FUNCTION or word in _VERBS or (head and (verb or kind_of_noun(head))):
            break
        head = word
    return head


def _options(text: str, *, compares: bool) -> tuple[str, ...]:
    left, _, right = text[-400:].rstrip(" ?").rpartition(" or ")
    if not left or not (right.removeprefix("the ")[:1].isupper() or (compares and right.startswith("the "))):
        return ()
    start = max(left.rfind(", "), left.rfind(": "), left.rfind("? ")) + 2
    first = left[start:] if start > 1 else next((name for _, name in reversed(find_names(left))), "")
    second = re.split(r" (?:was|is|has|had|born|died|first\b)", right, maxsplit=1)[0]
    return (first.strip(' ",?'), second.strip(' ",')) if first.strip(' ",?') and second.strip(' ",') else ()


def kind_of_noun(noun: str) -> str:
    """Return the answer type of a noun: date, number, place or person; empty for any other."""
    single = re.sub(r"ies$", "y", noun).removesuffix("s")
    return next((kind for kind, form in _KINDS if re.fullmatch(form, single) or re.fullmatch(form, noun)), "")


def find_descriptions(question: str) -> dict[str, str]:
    """Map each description in a question, innermost first, to the question that resolves it.

    E.g. "the mother of the author of X", "X's father", "the astronomer who discovered X", within 1,000 characters.
    """
    question = question[:_MAX_CHARACTERS]
    every, nouns = find_names(question), dict[str, str]()
    for match in reversed(list(_DESCRIBED.finditer(question))):
        named = next((at + len(name) for at, name in every if at >= match.end()), match.end())
        if (named == match.end() and not match["clause"]) or kind_of_noun(match["noun"]) in ("date", "number", "place"):
            continue
        aside = _PARENTHESIS.match(question, named)
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


def split_comparison(question: Question, sides: Sequence[str], persons: frozenset[str] = frozenset()) -> list[str]:
    """Return the two questions whose answers decide a comparison; empty if nothing is compared."""
    fact, maker = question.compared_fact, question.maker
    if len(sides) < 2 or not fact or not (question.options or question.kind == "yes_no"):
        return []
    made = [s if not maker or s in persons or f"{maker} of" in s else f"the {maker} of {s}" for s in sides]
    return [f"What is {fact} of {each}?" for each in made]


def split_question(question: str, in_order: bool = False) -> list[str]:
    """Decompose a question into sub-questions, the innermost first; empty if it cannot be decomposed.

    With `in_order`, `#1` refers to the answer to the first sub-question, and the last ones ask for the rest of the
    question, or of each side of a comparison.
    """
    asked = read_question(question)
    steps: dict[str, str] = {}  # description or part → sub-question

    def refer(text: str) -> str:
        for number, phrase in reversed([*enumerate(steps, start=1)]) if in_order else ():
            text = text.replace(phrase, f"#{number}")
        return text

    parts = split_comparison(asked, asked.options or asked.names[:2]) or [question]
    for part in parts:
        for phrase, step in find_descriptions(part).items():
            if phrase not in steps:
                steps[phrase] = refer(step)
    steps |= {part: refer(part) for part in parts}
    if in_order:
        return [*steps.values()] if len(steps) > 1 else []
    return [step for step in dict.fromkeys(steps.values()) if key(step) != key(question)]
