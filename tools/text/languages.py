"""The analyzers of languages: Snowball stemmers, bm25s's stop words, and bigrams for scripts without spaces.

Without a stop-word list all words are kept; BM25 gives very frequent ones little weight.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

from pydantic import JsonValue

from hopgraph.state import SettingsError
from hopgraph.tools.text.analyzer import ANY_WORD, DEFAULT_ANALYZER, Analyzer, tokenizer_version


def _named(pairs: str) -> dict[str, str]:
    return {code: name for code, _, name in (pair.partition(" ") for pair in pairs.split(", "))}


_STEMMED = _named(
    "ar arabic, hy armenian, eu basque, ca catalan, cs czech, da danish, nl dutch, en english, eo esperanto, "
    "et estonian, fi finnish, fr french, de german, el greek, hi hindi, hu hungarian, id indonesian, ga irish, "
    "it italian, lt lithuanian, ne nepali, no norwegian, fa persian, pl polish, pt portuguese, ro romanian, "
    "ru russian, sr serbian, st sesotho, es spanish, sv swedish, ta tamil, tr turkish, yi yiddish"
)
_UNSPACED = _named("zh chinese, ja japanese, ko korean, th thai")
_TOKENIZERS = {"chinese-words": "rjieba", "japanese-words": "sudachipy", "thai-words": "pythainlp"}
"""Language variants that are split by a dictionary, from the extra `languages`."""
_CODES = _STEMMED | _UNSPACED | {f"{code}-words": f"{_UNSPACED[code]}-words" for code in ("zh", "ja", "th")}
AUTO_LANGUAGE = "auto"
"""The language of an index with documents in several languages; its manifest lists them after a colon."""
_MIN_PROBABILITY, _MAX_ENGLISH = 0.5, 0.02  # probabilities of a detected language, and of English beside it
_SAMPLE, _MIN_STOP_WORDS = 4000, 2  # characters for language detection; stop words that identify a query's language


def list_language_codes() -> list[str]:
    """Return the codes of all languages, sorted: ISO 639-1, some with `-words`."""
    return sorted(_CODES)


def list_language_names() -> list[str]:
    """Return the English names of the languages that need no extra package, sorted."""
    return sorted((_STEMMED | _UNSPACED).values())


def get_analyzer(language: str) -> Analyzer:
    """Return the analyzer of a code (`de`, `zh-words`), an English name, or `auto`; SettingsError if unknown."""
    if language.partition(":")[0] == AUTO_LANGUAGE:
        return make_mixed_analyzer(language.partition(":")[2].split(",") if ":" in language else ())
    name = _CODES.get(language.lower(), language.lower())
    if name not in _CODES.values():
        raise SettingsError(f"language {language!r:.40} is unknown; known: {', '.join(list_language_codes())}")
    return _analyzer(name)


def detect_language(text: str) -> str:
    """Return the code of a text's language; empty if it is uncertain, English, or has no stemmer.

    Chinese, Japanese, Korean and Thai need no detection, since every analyzer makes bigrams of their characters.
    """
    ranked: dict[str, float] = dict(_identifier().rank(text[:_SAMPLE]))
    code = next(iter(ranked))
    is_sure = ranked[code] >= _MIN_PROBABILITY and ranked["en"] <= _MAX_ENGLISH
    return code if is_sure and code in _STEMMED else ""


@cache
def _identifier() -> Any:
    """Load py3langid, which has no type stubs."""
    library = import_module("py3langid.langid")
    return library.LanguageIdentifier.from_model_file(library.MODEL_FILE, norm_probs=True)


@dataclass(frozen=True)
class MixedAnalyzer(Analyzer):
    """Analyses each document in its own language, and a query in all of them."""

    languages: tuple[str, ...] = ()
    """English names, sorted."""

    def choose(self, language: str) -> Analyzer:
        """Return the analyzer of a language, or English if it has none."""
        name = _CODES.get(language.lower(), language.lower())
        return _analyzer(name if name in _STEMMED.values() else "english")

    def describe(self) -> dict[str, JsonValue]:
        """Return the descriptions of all languages' analyzers."""
        return {"language": self.language, "analyzers": [each.describe() for each in self._analyzers]}

    def terms(self, text: str) -> list[str]:
        """Return the terms of a query in all languages, without the stop words of its likely language."""
        if len(self._analyzers) == 1:
            return self._analyzers[0].terms(text)
        found = [analyzer.words(text) for analyzer in self._analyzers]
        stops = [frozenset(analyzer.stop_words) for analyzer in self._analyzers]
        counts = [sum(word in words for word in each) for words, each in zip(stops, found, strict=True)]
        most = max(_MIN_STOP_WORDS, *counts)
        own = frozenset[str]().union(*(words for words, count in zip(stops, counts, strict=True) if count == most))
        every = Counter[str]()
        for analyzer, words in zip(self._analyzers, found, strict=True):
            every |= Counter(term for word in words if word not in own and (term := analyzer.term(word)) is not None)
        return list(every.elements())

    @cached_property
    def _analyzers(self) -> list[Analyzer]:
        return [_analyzer(name) for name in self.languages]


def make_mixed_analyzer(languages: Iterable[str]) -> MixedAnalyzer:
    """Return the analyzer of an index with documents in these languages; SettingsError for an unknown one."""
    names = tuple(sorted(get_analyzer(each).language for each in languages)) or ("english",)
    return MixedAnalyzer(language=f"{AUTO_LANGUAGE}:{','.join(names)}", languages=names)


@cache
def _analyzer(name: str) -> Analyzer:
    if name == "english":
        return DEFAULT_ANALYZER
    tokenizer, words = _TOKENIZERS.get(name, "bigrams"), f"STOPWORDS_{name.upper()}" * (name in _STEMMED.values())
    tokenizer_version(tokenizer)  # fails if its package is missing
    return Analyzer(
        language=name,
        stemmer="snowball" if words else "none",
        stop_words=tuple(getattr(import_module("bm25s.stopwords"), words, ())) if words else Analyzer.stop_words,
        word_pattern=ANY_WORD,
        normal_form="NFC" if name.startswith("thai") else "NFKC",  # NFKC decomposes a Thai vowel
        tokenizer=tokenizer,
        compounds=True,
    )
