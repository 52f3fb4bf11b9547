"""Texts of the page in the browser's language, one of `texts.yaml`, else English; and its scripts, which have some."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

LANGUAGES = ("en", "de", "fr", "es")
_SUBJECTS = 4  # names with a colon after them that may come before a problem
_TEXTS = "const t = (%s)[document.documentElement.lang];\n"
HEAD = f"""<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
%3Cpath d='M3 3v10h10M3 8h6' fill='none' stroke='%232563eb' stroke-width='2'/%3E%3C/svg%3E">
<script>document.documentElement.lang = navigator.languages.map((each) => each.slice(0, 2).toLowerCase())
  .find((each) => {json.dumps(LANGUAGES)}.includes(each)) ?? "en";</script>"""
"""The page's head: its icon and its language."""


@dataclass(frozen=True)
class Texts:
    """The page's texts in one language."""

    language: str

    def __call__(self, key: str, **values: str | int) -> str:
        """Return a text with its placeholders filled in."""
        text = _read()[key][self.language]
        return text.format(**values) if values else text

    def count(self, key: str, number: int) -> str:
        """Return a number with its noun: `KEY_one` or `KEY_many`, whichever fits."""
        return self(f"{key}_{'one' if number == 1 else 'many'}", n=f"{number:,}")

    def problem(self, line: str) -> str:
        """Translate the server's English message; unchanged if `problems.yaml` does not have it.

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
    """Return the problems with a pattern for their English texts."""
    every: Sequence[Mapping[str, str]] = _read("problems.yaml")
    return [(re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(each["en"]))), each) for each in every]


def texts_by_language() -> dict[str, dict[str, str]]:
    """Return language → key → text, as `gr.I18n` and the page's script have them."""
    return {language: {key: each[language] for key, each in _read().items()} for language in LANGUAGES}


def texts_for(accepted: str) -> Texts:
    """Return the texts in the available language that an `Accept-Language` header prefers."""
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


def read_asset(name: str) -> str:
    """Return `page.css`, or a script: for `js_on_load` of an element, which it calls `element`, with the texts `t`."""
    asset = Path(__file__).with_name(name).read_text(encoding="utf-8")
    used = set(re.findall(r"\bt\.(\w+)", asset))
    texts = {language: {key: each[key] for key in used} for language, each in texts_by_language().items()}
    return asset if name.endswith(".css") else _TEXTS % json.dumps(texts) + asset
