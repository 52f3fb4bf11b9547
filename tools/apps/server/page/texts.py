"""Texts of the page in the browser's language: one of those in `texts.yaml`, else English."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

LANGUAGES = ("en", "de", "fr", "es")


@dataclass(frozen=True)
class Texts:
    """The page's texts in one language."""

    language: str

    def __call__(self, key: str, **values: str | int) -> str:
        """Return a text with its places filled in."""
        text = _read()[key][self.language]
        return text.format(**values) if values else text

    def count(self, key: str, number: int) -> str:
        """Return a number with its noun: of the texts `KEY_one` and `KEY_many` the one that fits."""
        return self(f"{key}_{'one' if number == 1 else 'many'}", n=f"{number:,}")


ENGLISH = Texts("en")


@cache
def _read() -> Mapping[str, Mapping[str, str]]:
    return yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text(encoding="utf-8"))


def texts_by_language() -> dict[str, dict[str, str]]:
    """Return language → key → text, as `gr.I18n` and the page's script have them."""
    return {language: {key: each[language] for key, each in _read().items()} for language in LANGUAGES}


def texts_for(accepted: str) -> Texts:
    """Return the texts in the language that an `Accept-Language` header likes best of those that there are."""
    best, most = "en", 0.0
    for entry in accepted[:1000].split(","):
        tag, _, weight = entry.partition(";q=")
        language = tag.strip().lower().partition("-")[0]
        try:
            liked = float(weight or 1)
        except ValueError:
            continue
        if language in LANGUAGES and liked > most:
            best, most = language, liked
    return Texts(best)
