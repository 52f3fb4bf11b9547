"""Texts of the page in the browser's language: one of those in `texts.yaml`, else English."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

LANGUAGES = ("en", "de", "fr", "es")
_SUBJECTS = 4  # names with a colon after them that may come before a problem


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

    def problem(self, line: str) -> str:
        """Return in this language what the server reports in English; as it is where `problems.yaml` does not have it.

        What a line is about may come first: a file, as in `notes.txt: the file is empty`.
        """
        subject, rest = "", line
        for _ in range(_SUBJECTS if self != ENGLISH else 0):
            for pattern, texts in read_problems():
                if found := pattern.fullmatch(rest):
                    return subject + texts[self.language].format(**found.groupdict())
            before, colon, rest = rest.partition(": ")
            subject += before + colon
        return line


ENGLISH = Texts("en")


@cache
def _read(name: str = "texts.yaml") -> Any:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@cache
def read_problems() -> Sequence[tuple[re.Pattern[str], Mapping[str, str]]]:
    """Return the problems with a pattern of their English texts."""
    every: Sequence[Mapping[str, str]] = _read("problems.yaml")
    return [(re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(each["en"]))), each) for each in every]


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
