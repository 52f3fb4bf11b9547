"""From text to terms: the one way in which indexes, queries and lexical comparisons see words.

Chinese, Japanese, Korean and Thai put no spaces between words: overlapping pairs of characters (bigrams) need no
dictionary, never miss a name that a dictionary lacks, and are what Lucene's CJKAnalyzer does. Dictionary tokenisers,
behind the extra `languages`, find fewer passages by accident and make a smaller vocabulary.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, cached_property, lru_cache, partial, wraps
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, filterfalse
from threading import Lock
from typing import Any, Literal, TypeVar

from pydantic import JsonValue

from hopgraph.state import SpecError

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana, repetition marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul: spaced, but its words carry their grammar at their ends
)
"""Character ranges of a regular expression's set."""
_MARKS = "".join(filter(lambda each: unicodedata.category(each) in {"Mn", "Mc"}, map(chr, range(0x300, 0x1B00))))
"""Vowel signs and accents: parts of words that `\\w` leaves out."""
ANY_WORD = rf"[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{_MARKS}\u200c\u200d])*"
"""Letters or digits of other scripts, one alone, too, with what joins them."""

_PACKAGES = {"rjieba": ("rjieba",), "sudachipy": ("sudachipy", "sudachidict_core"), "pythainlp": ("pythainlp",)}
"""Tokeniser → the packages whose versions decide what it finds."""

_LONGEST = 10_000  # characters that a tokeniser sees at a time; SudachiPy takes 49,149 bytes at most
_GRAMMAR = ("助詞", "助動詞", "補助記号", "空白")
"""Japanese particles, auxiliary verbs and marks, which Lucene's JapaneseAnalyzer leaves out, too."""
_DISTINCT_WORDS = 1 << 17
LONGEST_CACHED = 4096
"""Characters of a text whose results are cached: those of a passage, so that the caches stay small."""
ResultT = TypeVar("ResultT")
Splitter = Callable[[str], list[str]]


def once_per_passage(work: Callable[[str], ResultT], most: int = 2048) -> Callable[[str], ResultT]:
    """Cache the results of a function for the `most` latest texts that are no longer than passages."""
    cached = lru_cache(maxsize=most)(work)

    @wraps(work)
    def run(text: str) -> ResultT:
        return cached(text) if len(text) <= LONGEST_CACHED else work(text)

    return run


ENGLISH_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these"
    " they this to was will with"
)
"""Lucene's English stop words, which bm25s calls `en`."""


@dataclass(frozen=True)
class Analyser:
    """Lower-case, split into words (by default of two or more letters or digits), drop stop words, stem.

    The defaults are the steps that `bm25s.tokenize` takes with `stopwords="en"` and PyStemmer's English
    (Snowball) stemmer. `hopgraph.tools.text.languages` has the analysers of other languages.
    """

    language: str = "english"
    stemmer: Literal["snowball", "none"] = "snowball"
    stop_words: tuple[str, ...] = tuple(ENGLISH_STOP_WORDS.split())
    word_pattern: str = r"(?u)\b\w\w+\b"
    normal_form: Literal["none", "NFC", "NFKC"] = "none"
    """The Unicode form that a text is brought to first, so that `é` is one letter however it was typed."""
    tokeniser: str = "none"
    """The splitter of text without spaces: `bigrams` or a package; see `make_splitter`."""
    compounds: bool = False
    """True if version and part numbers, identifiers and hyphenated words are terms, in addition to their parts."""
    folds_accents: bool = False
    """True if `café` is `cafe` to the stemmer, too, for a language whose own words have no accents."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in its order, compounds behind all others, repeated ones included."""
        stem = self._stem
        stop_words = self._stop_words
        return [stem(word) for word in self.words(text) if word not in stop_words]

    def term(self, word: str) -> str | None:
        """Return the term of one lower-case word; None for a stop word."""
        return None if word in self._stop_words else self._stem(word)

    def choose(self, language: str) -> "Analyser":
        """Return the analyser of a document in a language, of which nothing may be known: this one for all of them."""
        return self

    def describe(self) -> dict[str, JsonValue]:
        """Return what an index records, with versions that may change terms; SpecError for a missing tokeniser."""
        snowball: str = import_module("Stemmer").version() if self.stemmer == "snowball" else ""
        return {
            **asdict(self),
            "version": 2,  # counts the changes of terms that no field tells
            "stop_words": list(self.stop_words),
            "stemmer_version": ".".join(snowball.split(".")[:2]),
            "tokeniser_version": tokeniser_version(self.tokeniser),
        }

    @cached_property
    def words(self) -> Splitter:
        """Splits a text into lower-case words, with stop words, not stemmed; SpecError for a missing tokeniser."""
        lower = _turkish_lower if self.language == "turkish" else str.lower
        split, form = make_splitter(self.tokeniser, self.word_pattern), self.normal_form

        def words(text: str) -> list[str]:
            respells = form != "none" and not text.isascii()
            if form != "none" and respells:
                text = unicodedata.normalize(form, _RAISED.sub(r" \g<0>", _INVISIBLE.sub("", text)))
            text = _NO_WORD.sub("", text) if self.compounds else text
            found = split(lower(text))
            if self.compounds:
                measures = (word for word in found if not (word.isalpha() or word.isdecimal()))
                parts = [part for word in measures if _MEASURE.fullmatch(word) for part in _RUN.findall(word)]
                capitals = (each for each in _CAPITALS.findall(text) if lower(each) in self._stop_words)
                found += [*map(lower, find_compounds(text)), *parts, *capitals]
            return [*chain.from_iterable(map(self._respell, found))] if respells else found

        return words

    @cached_property
    def _respell(self) -> Callable[[str], tuple[str, ...]]:
        """Returns a word without accents, or also without, where that is another term for who types none."""

        @lru_cache(maxsize=_DISTINCT_WORDS)
        def respell(word: str) -> tuple[str, ...]:
            plain = word if word.isascii() or word in self._stop_words else _fold_accents(word)
            other = () if self._stem(plain) == self._stem(word) else (plain,)
            return (plain,) if self.folds_accents else (word, *other)

        return respell

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        stem_word: Callable[[str], str] = str
        if self.stemmer != "none":  # PyStemmer has no type stubs
            stem_word = import_module("Stemmer").Stemmer(self.language).stemWord
        lock = Lock()
        surplus = re.compile(r"^0(?=\d$)" + _DIGRAPH * (self.language in ("english", "danish", "norwegian")))

        @lru_cache(maxsize=_DISTINCT_WORDS)
        def stem(word: str) -> str:
            with lock:  # a PyStemmer object must not be used by two threads at once
                term = stem_word(word)
            return surplus.sub("", term if term.isascii() else _fold_accents(term)) if self.compounds else term

        return stem


# These begin with a set of characters, which `re` looks for many times as fast as for what stands before a place.
_NO_WORD = re.compile(r"['\u2019A-HJ-UWYZ](?:(?<=\w['\u2019])[sS]\b|(?<=[A-HJ-UWYZ])(?<![\w.].)\.(?=\s+[A-Z]))")
"""The ending of a possessive, and the initial of a name, which many share; not a numeral that ends a sentence."""
_INVISIBLE = re.compile("[\xad\u0640\u200b\u200e\u200f\u2060\ufeff\u2120\u2122]")
"""Signs that no one searches for, the letters of trademarks, too, which NFKC would join to their names."""
_RAISED = re.compile(r"[\xb2\xb3\xb9\xbc-\xbe\u2070\u2074-\u2079\u2150-\u215e](?:(?<=\d.)|(?<=[^\W\d_]{3}.))")
"""An exponent, a fraction or a note's number behind a number or word, which are part of neither, but of m²."""
_ACCENTS = re.compile(
    "[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u093c]|(?<![\u0438\u0443])\u0306"
)
"""Accents, and the points of Hebrew, Arabic and Hindi, which most texts leave out; not that of the Russian letter й."""
_PLAIN = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", **dict(zip("łøđðıىیک", "loddiييك", strict=True))}
_DIGITS = {each: str(int(each)) for each in map(chr, range(0x660, 0x1B00)) if each.isdecimal()}
_PLAIN_LETTERS = str.maketrans(_PLAIN | _DIGITS)
"""Letters and digits without a decomposition, as those write them who do not have them."""
_DIGRAPH = r"|(?<![aeiouq][aou])(?<=[aou])e(?=[b-df-hj-np-tv-z][a-z])|(?<=a)a(?=[b-df-hj-np-tv-z])"
"""The letter that Mueller, Oersted, Aarhus have beside Muller, Orsted, Arhus; Snowball's German stemmer knows it."""
_CAPITALS = re.compile(r"[A-Z](?:(?<=\w A)\b|(?<!\w.)[A-Z]+\b)")
"""Stop words that are names where a sentence has them in capitals: vitamin A, the IT department."""
_COMPOUND = re.compile(  # 1.3.0, NP-440, retry_count, AT&T, A/B, 14:30, O'Neil, C++, .NET
    r"(?<![^\W_])[^\W_]++(?:(?:(?:[._&/\-\u2010\u2011]|(?<=\d):(?=\d)|(?<=[A-Z])['\u2019](?=[A-Z])"
    r"|(?<![^\W_]o)(?<=o)['\u2019](?=[a-z]))[^\W_]++)+|(?:\+\+|#)(?!\w))|(?<![\w.)/])\.[A-Za-z][^\W_]++(?![/.])"
)
_HUMP = re.compile(r"[a-z]\d*[A-Z]|[A-Z]{2}[a-z]{2}")
_CAMEL = re.compile(rf"(?<![^\W_])[A-Za-z\d]*?(?:{_HUMP.pattern})[A-Za-z\d]*")
_CAMEL_PART = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z\d]+|[A-Z]+")
_MEASURE = re.compile(r"[^\W\d_]+\d\d+[^\W\d_]*|\d+(?!(?:s|st|nd|rd|th)$)[^\W\d_]+\d*")
"""NP440, 5kg, 2x4, which are NP 440 and 5 kg to others; not CO2, 1960s or 19th."""
_RUN, _UNSPACED_LETTER = re.compile(r"\d+|\D+"), re.compile(f"[{UNSPACED}]")
_NUMBER = re.compile(
    r"\d(?<!\d\d)(?:(?!\d{3}-\d\d-\d\d)(?:[ ()/\-]{0,3}\d){8,}|(?<=[1-9])\d?\d?(?:[, '\u2019]\d{3})+(?!\d))"
)
"""Of an account, or of a telephone, which people group in their own ways, and write with other prefixes; 1,200."""
_WITHOUT_POINTS = re.compile(r"[^\W\d_]{1,2}(?:\.[^\W\d_]{1,2})+|[1-9]\d?\d?(?:\.\d{3})+")
"""U.S, Ph.D and 1.200, which are US, PhD and 1200 to others."""
_VERSION = re.compile(r"(?<!\d)\d++(?:\.\d++)+")
_SIGN = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_BETWEEN_PARTS = str.maketrans("", "", "-_, '\u2019\u2010\u2011")


def _fold_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(_PLAIN_LETTERS)


def find_compounds(text: str) -> list[str]:
    """Find what the parts of words and numbers are together: `1.3.0`, `NP440` for NP-440, `email` for e-mail, `C++`.

    Of a name in camel case, which is one word by itself, they are the parts; of a path its compounds, too; of initials
    one word, `US` for U.S.; of a number of nine digits or more the last seven; and pictographs.
    """
    digits = ("".join(filter(str.isdecimal, number)) for number in _NUMBER.findall(text))
    found = [number[-7:] if len(number) > 8 else number for number in digits]
    if not text.isascii():
        found, text = found + _SIGN.findall(text), _UNSPACED_LETTER.sub(" ", text)
    text = " ".join(filterfalse(_is_plain, text.split()))
    for match in _COMPOUND.finditer(text):
        joined = match[0].translate(_BETWEEN_PARTS)
        found.append(joined.replace(".", "") if _WITHOUT_POINTS.fullmatch(joined) else joined)
        if "/" in joined:
            found += (part.translate(_BETWEEN_PARTS) for part in match[0].split("/") if not part.isalnum())
        found += (version for version in _VERSION.findall(joined) if version != joined)
    if _HUMP.search(text):
        for word in _CAMEL.findall(text):
            found += _CAMEL_PART.findall(word)
    return found


def _is_plain(word: str) -> bool:
    """Return whether what stands between blanks is, but for its end, one word or number: most of a text."""
    word = word.rstrip(".,;:!?)")
    return word.isalnum() and (word[1:].islower() or word.isdigit())


def _turkish_lower(text: str) -> str:
    """Lower-case a language with two letters i, with a dot and without, each with its own capital."""
    return text.replace("I", "\u0131").replace("\u0130", "i").lower()


def make_splitter(tokeniser: str, word_pattern: str) -> Splitter:
    """Make what splits a text into words: unspaced stretches by a tokeniser, the rest by a pattern.

    The tokeniser is `none`, `bigrams`, or a package of the extra `languages`; SpecError if it is not installed. The
    pattern must match none of UNSPACED, but for `none`.
    """
    if tokeniser == "none":
        return re.compile(word_pattern).findall
    split = _bigrams if tokeniser == "bigrams" else _dictionary_splitter(tokeniser)
    find, spaced = re.compile(f"([{UNSPACED}]+)|({word_pattern})").findall, re.compile(word_pattern).findall

    def words(text: str) -> list[str]:
        if text.isascii():
            return spaced(text)
        return list(chain.from_iterable(split(run) if run else (word,) for run, word in find(text)))

    return words


def tokeniser_version(tokeniser: str) -> str:
    """Return the versions of a tokeniser's packages, empty for bigrams; SpecError if one is not installed."""
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
        split = _LOADERS[tokeniser]()
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


def _sudachipy() -> Splitter:
    """Cut into the shortest units, in their dictionary's spelling: 食べた and たべる are both 食べる."""
    sudachipy = import_module("sudachipy")
    import_module("sudachidict_core")
    tokenizer: Any = sudachipy.Dictionary(dict="core").tokenizer(sudachipy.SplitMode.A)

    def split(run: str) -> list[str]:
        found: Any = tokenizer.tokenize(run)
        return [each.normalized_form().lower() for each in found if each.part_of_speech()[0] not in _GRAMMAR]

    return split


_LOADERS: dict[str, Callable[[], Splitter]] = {
    # One of our own, as an application may add words to the package's. For search: 大学 finds 北京大学.
    "rjieba": lambda: import_module("rjieba").Jieba().cut_for_search,
    "sudachipy": _sudachipy,
    "pythainlp": lambda: partial(import_module("pythainlp").word_tokenize, engine="newmm", keep_whitespace=False),
}


DEFAULT_ANALYSER = Analyser(
    word_pattern=ANY_WORD, normal_form="NFKC", tokeniser="bigrams", compounds=True, folds_accents=True
)
"""English: of indexes, unless another language is named, and of whatever compares texts."""


def content_terms(text: str) -> list[str]:
    """Return the terms of a text to compare it with other texts, in order, repeated ones included.

    They are those of an English index. The most recent texts are remembered: a step compares the same sentences with
    many queries.
    """
    return list(_terms(text))


@partial(once_per_passage, most=1 << 13)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(DEFAULT_ANALYSER.terms(text))
