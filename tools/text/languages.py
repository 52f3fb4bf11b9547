"""The analysers of languages: Snowball stemmers, bm25s's stop words, and bigrams for scripts without spaces.

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
from hopgraph.tools.text.analyser import ANY_WORD, DEFAULT_ANALYSER, Analyser, tokeniser_version


def _named(pairs: str) -> dict[str, str]:
    return {code: name for code, _, name in (pair.partition(" ") for pair in pairs.split(", "))}


_STEMMED = _named(
    "ar arabic, hy armenian, eu basque, ca catalan, cs czech, da danish, nl dutch, en english, eo esperanto, "
    "et estonian, fi finnish, fr french, de german, el greek, hi hindi, hu hungarian, id indonesian, ga irish, "
    "it italian, lt lithuanian, ne nepali, no norwegian, fa persian, pl polish, pt portuguese, ro romanian, "
    "ru russian, sr serbian, st sesotho, es spanish, sv swedish, ta tamil, tr turkish, yi yiddish"
)
_UNSPACED = _named("zh chinese, ja japanese, ko korean, th thai")
_TOKENISERS = {"chinese-words": "rjieba", "japanese-words": "sudachipy", "thai-words": "pythainlp"}
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


def get_analyser(language: str) -> Analyser:
    """Return the analyser of a code (`de`, `zh-words`), an English name, or `auto`; SettingsError if unknown."""
    if language.partition(":")[0] == AUTO_LANGUAGE:
        return make_mixed_analyser(language.partition(":")[2].split(",") if ":" in language else ())
    name = _CODES.get(language.lower(), language.lower())
    if name not in _CODES.values():
        raise SettingsError(f"language {language!r:.40} is unknown; known: {', '.join(list_language_codes())}")
    return _analyser(name)


def detect_language(text: str) -> str:
    """Return the code of a text's language; empty if it is uncertain, English, or has no stemmer.

    Chinese, Japanese, Korean and Thai need no detection, since every analyser makes bigrams of their characters.
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
class MixedAnalyser(Analyser):
    """Analyses each document in its own language, and a query in all of them."""

    languages: tuple[str, ...] = ()
    """English names, sorted."""

    def choose(self, language: str) -> Analyser:
        """Return the analyser of a language, or English if it has none."""
        name = _CODES.get(language.lower(), language.lower())
        return _analyser(name if name in _STEMMED.values() else "english")

    def describe(self) -> dict[str, JsonValue]:
        """Return the descriptions of all languages' analysers."""
        return {"language": self.language, "analysers": [each.describe() for each in self._analysers]}

    def terms(self, text: str) -> list[str]:
        """Return the terms of a query in all languages, without the stop words of its likely language."""
        if len(self._analysers) == 1:
            return self._analysers[0].terms(text)
        found = [analyser.words(text) for analyser in self._analysers]
        stops = [frozenset(analyser.stop_words) for analyser in self._analysers]
        counts = [sum(word in words for word in each) for words, each in zip(stops, found, strict=True)]
        most = max(_MIN_STOP_WORDS, *counts)
        own = frozenset[str]().union(*(words for words, count in zip(stops, counts, strict=True) if count == most))
        every = Counter[str]()
        for analyser, words in zip(self._analysers, found, strict=True):
            every |= Counter(term for word in words if word not in own and (term := analyser.term(word)) is not None)
        return list(every.elements())

    @cached_property
    def _analysers(self) -> list[Analyser]:
        return [_analyser(name) for name in self.languages]


def make_mixed_analyser(languages: Iterable[str]) -> MixedAnalyser:
    """Return the analyser of an index with documents in these languages; SettingsError for an unknown one."""
    names = tuple(sorted(get_analyser(each).language for each in languages)) or ("english",)
    return MixedAnalyser(language=f"{AUTO_LANGUAGE}:{','.join(names)}", languages=names)


@cache
def _analyser(name: str) -> Analyser:
    if name == "english":
        return DEFAULT_ANALYSER
    tokeniser, words = _TOKENISERS.get(name, "bigrams"), f"STOPWORDS_{name.upper()}" * (name in _STEMMED.values())
    tokeniser_version(tokeniser)  # fails if its package is missing
    return Analyser(
        language=name,
        stemmer="snowball" if words else "none",
        stop_words=tuple(getattr(import_module("bm25s.stopwords"), words, ())) if words else Analyser.stop_words,
        word_pattern=ANY_WORD,
        normal_form="NFC" if name.startswith("thai") else "NFKC",  # NFKC decomposes a Thai vowel
        tokeniser=tokeniser,
        compounds=True,
    )
