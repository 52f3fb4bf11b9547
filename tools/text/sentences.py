"""Sentence splitting with Punkt: NLTK's trained model if installed, else our lists of abbreviations.

Punkt only handles `.`, `!` and `?` before white space; other sentence-final punctuation, e.g. `。`, is handled here.
Abbreviations are in lower case without the final period, like Punkt's word types. Single letters, which Punkt
recognizes itself, and abbreviations that are also words are omitted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from importlib import import_module
from itertools import pairwise
from threading import Lock
from typing import Any

from hopgraph.tools.text.analyzer import once_per_passage


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


TITLES = _words(
    "adm amb asst atty brig capt cardl cdr cmdr col cpl cpt dr fr gen gov hon lt maj messrs mgr mlle mm",
    "mme mr mrs ms mx pfc ph pres prof pvt rep reps rev rt sen sens sgt supt treas",
)
"""Precede a name, so they never end a sentence."""

CONNECTIVES = _words("approx ca cf circa e.g eg esp i.e ie incl v viz vs abs bzw evtl ggf inkl mio mrd vgl z.b zzgl")
"""Introduce what follows, so they never end a sentence."""

MAY_END = _words(
    # parts of a text, measures
    "nr vol vols pp pts figs chap sect ed eds trans repr oz lb lbs ft hr hrs hp km kg mph sq yd yds cu avg",
    "temp est dept div dist",
    # months and days
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri",
    # companies and institutions
    "inc ltd corp co cos bros llc plc pty assn assoc univ inst intl natl mfg acad bd comm dev s.a s.p.a",
    "n.v b.v g.m.b.h gmbh l.p l.l.c p.l.c",
    # after names
    "jr sr esq ph.d phd m.d b.a m.a b.s b.sc m.sc m.b.a ll.b ll.m ll.d d.d.s r.n o.b.e c.b.e m.b.e k.c.b",
    "m.p q.c b.f.a m.f.a b.ed m.phil d.phil ed.d j.d ret",
    # countries, states, cities
    "u.s u.k u.n e.u u.s.a u.s.s.r d.c n.y n.y.c l.a n.j n.c s.c n.d s.d n.m r.i n.h w.va n.s.w ala ariz",
    "ark calif colo conn fla ga kan ky md mich minn mont neb nev okla ore pa penn tenn tex va vt wis wyo",
    "ont que qld vic",
    # streets and places
    "st ste ave blvd rd hwy pkwy bldg apt mt mts isl jct twp",
    # dates and times
    "a.m p.m a.d b.c b.c.e c.e a.k.a aka fl",
    # Latin and bibliography
    "etc et al ibid seq q.v n.b p.s loc cit illus anon ref",
    # music, sports, services
    "feat arr orch dir prod r.e.m n.w.a d.j m.c t.v u.s.s h.m.s s.s r.a.f u.s.a.f u.s.m.c f.b.i c.i.a",
)
"""End a sentence only before a word of OPENERS."""

BEFORE_NUMBERS = _words("no nos art ch fig max min op para pt sec")
"""Abbreviations before a number, otherwise words: “No. 5”, but “He said no.”"""

OPENERS = _words(
    "the he she it they we i you this that these those his her its their our my there here a an in on at",
    "as by for from with after before during since until while when where who what which how why although",
    "though however if because despite unlike according among under over through throughout between but",
    "and or nor so yet then thus therefore hence also additionally furthermore moreover nevertheless",
    "instead some many most several all both each other another such few one two three later following",
    "originally currently initially eventually finally subsequently today now early once not no to of",
)
"""Words that start a sentence if capitalized after an abbreviation or initial."""


LINE_UNIT = re.compile(r"\n(?=[ \t]*(?:[-*+\u2022\u00b7] |\d{1,2}[.)] ))")
"""A line break before a list item."""
_UNIT = re.compile(r"[ \t]*(?:\||[-*+\u2022\u00b7] |\d{1,2}[.)] )")
"""The start of a table row or list item."""
TABLE_RULE = re.compile(r"^[ \t]*+\|[ \t:|]*+-[ \t:|-]*+$", re.MULTILINE)
"""The delimiter row of a Markdown table, below the header row."""
_MAX_ITEM = 400  # characters of a list item that counts as one sentence
_WINDOW = 8192  # characters per call of Punkt, which is quadratic on some texts
_MARK = re.compile(r"[.!?]\s")
_MIN_CHECKED = 1024  # a longer text in which every fourth character ends a sentence is not prose, and slow
_CONTEXT = 40
_CLOSING = r"""["'\u2019\u201d\u00bb)\]]*"""
_NOT_AN_OPENING = re.compile(_CLOSING + r"""(?:[,;:.!?\u2026)\]]|['\u2019]s\b)""")
_FIRST_WORD = re.compile(r"\w+")
_LAST_WORD = re.compile(r"(\w+)\.$")
_INITIALS = re.compile(r"""(?:^|[^\w.])(?:[^\W\d_]\.)+["'\u2019\u201d]?$""")
"""One or more letters with periods: `J.`, `c.`, `F.C.`; perhaps before a closing quotation mark."""
_EXCLAMATION = re.compile(r"[!?]" + _CLOSING + "$")
"""The end of a title such as “What Would You Do?” or “Yahoo!” if a lower-case word follows."""
_OTHER_CLOSING = "[\u300d\u300f\u201d\u2019\uff09\u3011\u300b)\\]\"']"
_PARTICLE = "[\u3068\u3063\u306f\u306e\u3092\u304c\u306b\u3082\u3067]"
_OTHER_END = re.compile(
    rf"(?:[\u3002\uff01\uff1f\uff61]|\uff0e(?!\d))+(?:{_OTHER_CLOSING}+(?!{_PARTICLE})|(?!{_OTHER_CLOSING}))"
    r"(?![\uff0c\u3001\uff1b\uff1a,;:])"
    r"|[\u0964\u0965\u061f\u06d4](?=\s)"
)
"""Full-width punctuation without a space after it, inside quotation marks only if no Japanese particle follows; then
Devanagari, Arabic and Urdu punctuation."""
_OTHER_MARK = re.compile("[\u3002\uff01\uff1f\uff61\uff0e\u0964\u0965\u061f\u06d4]")
_GERMAN_DAY = re.compile(r"(?P<led_by>\b(?:am|vom|zum|bis|der|den|dem|ab|seit|und)\s+)?\b\d\d?\.$")
_GERMAN_MONTHS = frozenset(["Januar", "Februar", "M\u00e4rz", "Mai", "Juni", "Juli", "Oktober", "Dezember"])
_SHARED_MONTHS = frozenset(["April", "August", "September", "November"])
"""Spelled as in English, where a sentence may end with a number and the next one start with a month."""
_SEEN_IN_LOWER_CASE_INSIDE = 1 << 5
"""Punkt's orthographic flag for a word that occurs in lower case inside sentences."""


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the [start, end) character offsets of a text's sentences, in order, without surrounding white space.

    They cover all of the text but white space. A blank line always ends a sentence; a single line break only does so
    before a list item or table row. A table row is one sentence, and so are a header row with its delimiter row, and a
    list item unless it is long.
    """
    return list(_spans(text))


@partial(once_per_passage, maxsize=4096)
def _spans(text: str) -> tuple[tuple[int, int], ...]:
    """Find the sentences; results are cached, since several steps split the same passages."""
    other_marks = not text.isascii() and _OTHER_MARK.search(text) is not None
    spans: list[tuple[int, int]] = []
    for start, end in _paragraphs(text):
        found = [(start, end)] if _is_unit(text, start, end) else _sentences(text, start, end)
        for first, last in _at_other_marks(text, found) if other_marks else found:
            sentence = text[first:last]
            left, right = last - len(sentence.lstrip()), first + len(sentence.rstrip())
            if left < right:
                spans.append((left, right))
    return tuple(spans)


def _at_other_marks(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for start, end in spans:
        for mark in _OTHER_END.finditer(text, start, end):
            yield start, mark.end()
            start = mark.end()
        yield start, end


def _is_unit(text: str, start: int, end: int) -> bool:
    if "\n" not in text or not _UNIT.match(text, start):
        return False
    return text.startswith("|", start) or end - start <= _MAX_ITEM


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of paragraphs, table rows and list items."""
    start = position = 0
    after_row = is_filled = False
    for line in text.splitlines(keepends=True) if "\n" in text else ():
        bare = line.rstrip()
        is_row = bare.lstrip(" \t").startswith("|")
        is_start = after_row != is_row or (is_row and not TABLE_RULE.match(bare)) or _UNIT.match(line)
        if not bare or (position and is_start and not (after_row and TABLE_RULE.match(bare))):
            if is_filled:
                yield start, position
            start, is_filled = position, False
        is_filled = is_filled or bool(bare)
        after_row = is_row
        position += len(line)
    yield start, len(text)


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Run Punkt over a paragraph, window by window; the last sentence of a window may continue in the next."""
    position = start
    while end - position > _WINDOW:
        stop = position + _WINDOW
        openings = _openings(text[position:stop])
        for opening in openings:
            yield start, position + opening
            start = position + opening
        position = start if openings else _last_gap(text, position, stop)
    for opening in _openings(text[position:end]):
        yield start, position + opening
        start = position + opening
    yield start, end


def _openings(text: str) -> list[int]:
    """Return the offsets of all sentences but the first."""
    if len(text) > _MIN_CHECKED and 4 * len(_MARK.findall(text)) > len(text):
        return []
    spans: Iterable[tuple[tuple[int, int], tuple[int, int]]] = pairwise(_tokenizer().span_tokenize(text))
    return [start for (_, end), (start, _) in spans if not _continues(text, end, start)]


def _continues(text: str, end: int, start: int) -> bool:
    """Return whether a sentence continues after Punkt's boundary, in cases that abbreviations do not cover."""
    before, after = text[max(0, end - _CONTEXT) : end], text[start : start + _CONTEXT]
    if _NOT_AN_OPENING.match(after):
        return True
    word = _FIRST_WORD.search(after)
    if word is None:
        return False
    if word[0][0].isdigit() and (last := _LAST_WORD.search(before)) and last[1].lower() in BEFORE_NUMBERS:
        return True
    day = _GERMAN_DAY.search(before)
    if day and (word[0] in _GERMAN_MONTHS or (day["led_by"] and word[0] in _SHARED_MONTHS)):
        return True
    if _INITIALS.search(before):
        return word[0].lower() not in OPENERS or word[0].islower()
    return bool(_EXCLAMATION.search(before)) and word[0][0].islower()


def _last_gap(text: str, start: int, stop: int) -> int:
    """Return the start of a window's last word, so that no word is split; `stop` if it is a single word."""
    window = text[start:stop]
    words = window.rsplit(None, 1)
    gap = start + len(window.rstrip()) - len(words[-1]) if words else stop
    return gap if gap > start else stop


_LOADING = Lock()


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    """Load Punkt (untyped) once: the installed English model, else our own parameters."""
    # Imported on first use, so that `hopgraph --help` does not wait for it.
    with _LOADING:
        punkt: Any = import_module("nltk.tokenize.punkt")
        with suppress(LookupError, OSError):
            return punkt.PunktTokenizer("english")
    return punkt.PunktSentenceTokenizer(_parameters(punkt.PunktParameters()))


def _parameters(parameters: Any) -> Any:
    """Set Punkt's parameters from our lists."""
    parameters.abbrev_types = set(TITLES | CONNECTIVES | MAY_END)
    parameters.sent_starters = set(OPENERS)
    parameters.collocations = {(first, second) for first in TITLES | CONNECTIVES for second in OPENERS}
    # A Counter, since Punkt's defaultdict would keep every word that it is queried for.
    parameters.ortho_context = Counter(dict.fromkeys(OPENERS, _SEEN_IN_LOWER_CASE_INSIDE))
    return parameters
