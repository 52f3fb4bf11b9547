"""Text analysis: how indexes, queries and lexical comparisons turn text into terms.

Chinese, Japanese, Korean and Thai text without spaces is split into overlapping character bigrams, as by Lucene's
CJKAnalyzer: they need no dictionary, so that any name can be found. The dictionary tokenizers of the extra `languages`
give fewer false matches and a smaller vocabulary.
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
"""Characters of scripts without spaces, as ranges for a character class."""
_MARKS = "".join(filter(lambda each: unicodedata.category(each) in {"Mn", "Mc"}, map(chr, range(0x300, 0x1B00))))
"""Vowel signs and accents: parts of words that `\\w` does not match."""
ANY_WORD = rf"[^\W_{UNSPACED}](?:[^\W_{UNSPACED}]|[{_MARKS}\u200c\u200d])*"
"""One or more letters or digits of other scripts, with combining marks and joiners."""

_PACKAGES = {"rjieba": ("rjieba",), "sudachipy": ("sudachipy", "sudachidict_core"), "pythainlp": ("pythainlp",)}
"""Tokenizer → packages whose versions affect its output."""

_MAX_RUN = 10_000  # characters per call of a tokenizer; SudachiPy's limit is 49,149 bytes
_DROPPED_POS = ("助詞", "助動詞", "補助記号", "空白")
"""Japanese particles, auxiliary verbs, punctuation and white space, dropped as by Lucene's JapaneseAnalyzer."""
_CACHED_WORDS = 1 << 17
MAX_CACHED = 4096
"""Characters; results for longer texts than passages are not cached, so that the caches stay small."""
ResultT = TypeVar("ResultT")
Splitter = Callable[[str], list[str]]


def once_per_passage(work: Callable[[str], ResultT], maxsize: int = 2048) -> Callable[[str], ResultT]:
    """Cache a function's results for the `maxsize` most recent texts of passage length."""
    cached = lru_cache(maxsize=maxsize)(work)

    @wraps(work)
    def run(text: str) -> ResultT:
        return cached(text) if len(text) <= MAX_CACHED else work(text)

    return run


ENGLISH_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these"
    " they this to was will with"
)
"""Lucene's English stop words, which bm25s calls `en`."""


@dataclass(frozen=True)
class Analyzer:
    """Lower-cases text, splits it into words (by default of two or more characters), drops stop words, and stems.

    The defaults equal `bm25s.tokenize` with `stopwords="en"` and PyStemmer's English (Snowball) stemmer.
    `hopgraph.tools.text.languages` has the analyzers of other languages.
    """

    language: str = "english"
    stemmer: Literal["snowball", "none"] = "snowball"
    stop_words: tuple[str, ...] = tuple(ENGLISH_STOP_WORDS.split())
    word_pattern: str = r"(?u)\b\w\w+\b"
    normal_form: Literal["none", "NFC", "NFKC"] = "none"
    """Unicode normalization form applied first, so that composed and decomposed `é` are equal."""
    tokenizer: str = "none"
    """How text without spaces is split: `bigrams` or a package; see `make_splitter`."""
    compounds: bool = False
    """True if version numbers, part numbers, identifiers and hyphenated words are also terms as a whole."""
    folds_accents: bool = False
    """True if accents are removed before stemming (`café` → `cafe`), for languages without accents."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, with duplicates; compounds follow all others."""
        stem = self._stem
        stop_words = self._stop_words
        return [stem(word) for word in self.words(text) if word not in stop_words]

    def term(self, word: str) -> str | None:
        """Return the term of one lower-case word; None for a stop word."""
        return None if word in self._stop_words else self._stem(word)

    def choose(self, language: str) -> "Analyzer":
        """Return the analyzer of a document in a language, which may be empty if unknown; here always this one."""
        return self

    def describe(self) -> dict[str, JsonValue]:
        """Return the settings and versions that an index records; SpecError for a missing tokenizer."""
        snowball: str = import_module("Stemmer").version() if self.stemmer == "snowball" else ""
        return {
            **asdict(self),
            "version": 2,  # incremented when terms change with the same fields
            "stop_words": list(self.stop_words),
            "stemmer_version": ".".join(snowball.split(".")[:2]),
            "tokenizer_version": tokenizer_version(self.tokenizer),
        }

    @cached_property
    def words(self) -> Splitter:
        """Splits text into lower-case words, including stop words, unstemmed; SpecError for a missing tokenizer."""
        lower = _turkish_lower if self.language == "turkish" else str.lower
        split, form = make_splitter(self.tokenizer, self.word_pattern), self.normal_form

        def words(text: str) -> list[str]:
            has_variants = form != "none" and not text.isascii()
            if form != "none" and has_variants:
                text = unicodedata.normalize(form, _RAISED.sub(r" \g<0>", _INVISIBLE.sub("", text)))
            text = _NOT_A_WORD.sub("", text) if self.compounds else text
            found = split(lower(text))
            if self.compounds:
                measures = (word for word in found if not (word.isalpha() or word.isdecimal()))
                parts = [part for word in measures if _MEASURE.fullmatch(word) for part in _RUN.findall(word)]
                capitals = (each for each in _CAPITALS.findall(text) if lower(each) in self._stop_words)
                found += [*map(lower, find_compounds(text)), *parts, *capitals]
            return [*chain.from_iterable(map(self._variants, found))] if has_variants else found

        return words

    @cached_property
    def _variants(self) -> Callable[[str], tuple[str, ...]]:
        """Returns a word and, if that is another term, the word without accents; or only the latter."""

        @lru_cache(maxsize=_CACHED_WORDS)
        def variants(word: str) -> tuple[str, ...]:
            plain = word if word.isascii() or word in self._stop_words else _fold_accents(word)
            other = () if self._stem(plain) == self._stem(word) else (plain,)
            return (plain,) if self.folds_accents else (word, *other)

        return variants

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        return frozenset(self.stop_words)

    @cached_property
    def _stem(self) -> Callable[[str], str]:
        stem_word: Callable[[str], str] = str
        if self.stemmer != "none":  # PyStemmer has no type stubs
            stem_word = import_module("Stemmer").Stemmer(self.language).stemWord
        lock = Lock()
        redundant = re.compile(r"^0(?=\d$)" + _DIGRAPH * (self.language in ("english", "danish", "norwegian")))

        @lru_cache(maxsize=_CACHED_WORDS)
        def stem(word: str) -> str:
            with lock:  # a PyStemmer object must not be used by two threads at once
                term = stem_word(word)
            return redundant.sub("", term if term.isascii() else _fold_accents(term)) if self.compounds else term

        return stem


# These start with a character class, since `re` searches for one much faster than for a lookbehind.
_NOT_A_WORD = re.compile(r"['\u2019A-HJ-UWYZ](?:(?<=\w['\u2019])[sS]\b|(?<=[A-HJ-UWYZ])(?<![\w.].)\.(?=\s+[A-Z]))")
"""A possessive ending, or an initial in a name; not a Roman numeral at the end of a sentence."""
_INVISIBLE = re.compile("[\xad\u0640\u200b\u200e\u200f\u2060\ufeff\u2120\u2122]")
"""Invisible characters, and trademark signs, which NFKC would turn into letters of the name."""
_RAISED = re.compile(r"[\xb2\xb3\xb9\xbc-\xbe\u2070\u2074-\u2079\u2150-\u215e](?:(?<=\d.)|(?<=[^\W\d_]{3}.))")
"""An exponent, fraction or footnote mark after a number or a word, but not in short units such as m²."""
_ACCENTS = re.compile(
    "[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u093c]|(?<![\u0438\u0443])\u0306"
)
"""Accents, and optional points of Hebrew, Arabic and Hindi; not the breve of Cyrillic й and ў."""
_PLAIN = {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th", **dict(zip("łøđðıىیک", "loddiييك", strict=True))}
_DIGITS = {each: str(int(each)) for each in map(chr, range(0x660, 0x1B00)) if each.isdecimal()}
_PLAIN_LETTERS = str.maketrans(_PLAIN | _DIGITS)
"""Letters and digits without a decomposition → their usual substitutes."""
_DIGRAPH = r"|(?<![aeiouq][aou])(?<=[aou])e(?=[b-df-hj-np-tv-z][a-z])|(?<=a)a(?=[b-df-hj-np-tv-z])"
"""The additional letter of Mueller, Oersted and Aarhus; Snowball's German stemmer handles it itself."""
_CAPITALS = re.compile(r"[A-Z](?:(?<=\w A)\b|(?<!\w.)[A-Z]+\b)")
"""Stop words that are names if capitalized: vitamin A, the IT department."""
_COMPOUND = re.compile(  # 1.3.0, NP-440, retry_count, AT&T, A/B, 14:30, O'Neil, C++, .NET
    r"(?<![^\W_])[^\W_]++(?:(?:(?:[._&/\-\u2010\u2011]|(?<=\d):(?=\d)|(?<=[A-Z])['\u2019](?=[A-Z])"
    r"|(?<![^\W_]o)(?<=o)['\u2019](?=[a-z]))[^\W_]++)+|(?:\+\+|#)(?!\w))|(?<![\w.)/])\.[A-Za-z][^\W_]++(?![/.])"
)
_HUMP = re.compile(r"[a-z]\d*[A-Z]|[A-Z]{2}[a-z]{2}")
_CAMEL = re.compile(rf"(?<![^\W_])[A-Za-z\d]*?(?:{_HUMP.pattern})[A-Za-z\d]*")
_CAMEL_PART = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z\d]+|[A-Z]+")
_MEASURE = re.compile(r"[^\W\d_]+\d\d+[^\W\d_]*|\d+(?!(?:s|st|nd|rd|th)$)[^\W\d_]+\d*")
"""NP440, 5kg and 2x4, also written NP 440 and 5 kg; not CO2, 1960s or 19th."""
_RUN, _UNSPACED_LETTER = re.compile(r"\d+|\D+"), re.compile(f"[{UNSPACED}]")
_NUMBER = re.compile(
    r"\d(?<!\d\d)(?:(?!\d{3}-\d\d-\d\d)(?:[ ()/\-]{0,3}\d){8,}|(?<=[1-9])\d?\d?(?:[, '\u2019]\d{3})+(?!\d))"
)
"""A long number, e.g. of an account or phone, in any grouping and with any prefix; or a number such as 1,200."""
_WITHOUT_POINTS = re.compile(r"[^\W\d_]{1,2}(?:\.[^\W\d_]{1,2})+|[1-9]\d?\d?(?:\.\d{3})+")
"""U.S, Ph.D and 1.200, also written US, PhD and 1200."""
_VERSION = re.compile(r"(?<!\d)\d++(?:\.\d++)+")
_SIGN = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_BETWEEN_PARTS = str.maketrans("", "", "-_, '\u2019\u2010\u2011")


def _fold_accents(text: str) -> str:
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text))).translate(_PLAIN_LETTERS)


def find_compounds(text: str) -> list[str]:
    """Find compound words and numbers as single terms: `1.3.0`, `C++`, `NP440` for NP-440, `email` for e-mail.

    Also: the parts of camel-case names, the compounds within paths, initials as one word (`US` for U.S.), the last
    seven digits of numbers with nine or more, and pictographs.
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
    """Return whether a token without its final punctuation is a simple word or number, as most are."""
    word = word.rstrip(".,;:!?)")
    return word.isalnum() and (word[1:].islower() or word.isdigit())


def _turkish_lower(text: str) -> str:
    """Lower-case Turkish, where dotted and dotless i are different letters."""
    return text.replace("I", "\u0131").replace("\u0130", "i").lower()


def make_splitter(tokenizer: str, word_pattern: str) -> Splitter:
    """Return a function that splits text into words: runs without spaces by a tokenizer, the rest by a pattern.

    The tokenizer is `none`, `bigrams`, or a package of the extra `languages`; SpecError if it is not installed. Unless
    it is `none`, the pattern must not match characters of UNSPACED.
    """
    if tokenizer == "none":
        return re.compile(word_pattern).findall
    split = _bigrams if tokenizer == "bigrams" else _dictionary_splitter(tokenizer)
    find, spaced = re.compile(f"([{UNSPACED}]+)|({word_pattern})").findall, re.compile(word_pattern).findall

    def words(text: str) -> list[str]:
        if text.isascii():
            return spaced(text)
        return list(chain.from_iterable(split(run) if run else (word,) for run, word in find(text)))

    return words


def tokenizer_version(tokenizer: str) -> str:
    """Return the versions of a tokenizer's packages (empty for bigrams); SpecError if one is not installed."""
    try:
        return ", ".join(f"{name} {version(name)}" for name in _PACKAGES.get(tokenizer, ()))
    except PackageNotFoundError:
        raise _missing(tokenizer) from None


def _bigrams(run: str) -> list[str]:
    """Return the character bigrams of a run; a single character is a word."""
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]


@cache
def _dictionary_splitter(tokenizer: str) -> Splitter:
    try:
        split = _LOADERS[tokenizer]()
    except ImportError:
        raise _missing(tokenizer) from None
    lock = Lock()

    def words(run: str) -> list[str]:
        with lock:  # none of the packages is documented as thread-safe
            return [word for start in range(0, len(run), _MAX_RUN) for word in split(run[start : start + _MAX_RUN])]

    return words


def _missing(tokenizer: str) -> SpecError:
    names = " and ".join(_PACKAGES[tokenizer])
    return SpecError(f"the tokenizer {tokenizer} needs {names}: pip install 'hopgraph[languages]'")


def _sudachipy() -> Splitter:
    """Split into the shortest units, normalized: 食べた and たべる are both 食べる."""
    sudachipy = import_module("sudachipy")
    import_module("sudachidict_core")
    tokenizer: Any = sudachipy.Dictionary(dict="core").tokenizer(sudachipy.SplitMode.A)

    def split(run: str) -> list[str]:
        found: Any = tokenizer.tokenize(run)
        return [each.normalized_form().lower() for each in found if each.part_of_speech()[0] not in _DROPPED_POS]

    return split


_LOADERS: dict[str, Callable[[], Splitter]] = {
    # Our own instance, since an application may add words to the shared one. Search mode: 大学 finds 北京大学.
    "rjieba": lambda: import_module("rjieba").Jieba().cut_for_search,
    "sudachipy": _sudachipy,
    "pythainlp": lambda: partial(import_module("pythainlp").word_tokenize, engine="newmm", keep_whitespace=False),
}


DEFAULT_ANALYZER = Analyzer(
    word_pattern=ANY_WORD, normal_form="NFKC", tokenizer="bigrams", compounds=True, folds_accents=True
)
"""English; the default of indexes, also used to compare texts."""


def content_terms(text: str) -> list[str]:
    """Return the terms of a text, as in an English index, in order, with duplicates; the latest results are cached."""
    return list(_terms(text))


@partial(once_per_passage, maxsize=1 << 13)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(DEFAULT_ANALYZER.terms(text))
