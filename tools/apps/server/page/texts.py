"""The page's texts in the browser's language if `texts.yaml` has it, else in English, and the scripts that use them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

LANGUAGES = ("en", "de", "fr", "es")
_MAX_SUBJECTS = 4  # names, each with a colon, that may precede a problem
_SEPARATORS = {"en": ",", "de": ".", "fr": "\u202f", "es": "."}
_GROUPED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+")
_TEXTS = "const t = (%s)[document.documentElement.lang];\n"
HEAD = f"""<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
%3Cpath d='M3 3v10h10M3 8h6' fill='none' stroke='%232563eb' stroke-width='2'/%3E%3C/svg%3E">
<script>document.documentElement.lang = navigator.languages.map((each) => each.slice(0, 2).toLowerCase())
  .find((each) => {json.dumps(LANGUAGES)}.includes(each)) ?? "en";</script>"""
"""The page's head, with its icon, and a script that sets its language."""


@dataclass(frozen=True)
class Texts:
    """The page's texts in one language."""

    language: str

    def __call__(self, key: str, **values: str | int) -> str:
        """Return a text with its placeholders filled."""
        text = _read()[key][self.language]
        return text.format(**values) if values else text

    def count(self, key: str, number: int) -> str:
        """Return a number with its noun in the singular (`KEY_one`) or the plural (`KEY_many`)."""
        singular = number == 1 or (number == 0 and self.language == "fr")
        return self(f"{key}_{'one' if singular else 'many'}", n=self._localize(f"{number:,}"))

    def problem(self, line: str) -> str:
        """Return a message of the server in this language; unchanged if `problems.yaml` does not have it.

        The message may be preceded by its subject, as in `notes.txt: the file is empty`.
        """
        subject, rest = "", line
        for _ in range(_MAX_SUBJECTS if self != ENGLISH else 0):
            for pattern, texts in read_problems():
                if found := pattern.fullmatch(rest):
                    values = {name: self._localize(value) for name, value in found.groupdict().items()}
                    return subject + texts[self.language].format(**values)
            before, colon, rest = rest.partition(": ")
            subject += before + colon
        return line

    def _localize(self, value: str) -> str:
        """Return a number with the language's thousands separator; other values unchanged."""
        return value.replace(",", _SEPARATORS[self.language]) if _GROUPED_NUMBER.fullmatch(value) else value


ENGLISH = Texts("en")


@cache
def _read(name: str = "texts.yaml") -> Any:
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


@cache
def read_problems() -> Sequence[tuple[re.Pattern[str], Mapping[str, str]]]:
    """Return a pattern for each problem's English text, with its texts by language."""
    problems: Sequence[Mapping[str, str]] = _read("problems.yaml")
    return [(re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(each["en"]))), each) for each in problems]


def texts_by_language() -> dict[str, dict[str, str]]:
    """Return language → key → text, as `gr.I18n` and the scripts need them."""
    return {language: {key: each[language] for key, each in _read().items()} for language in LANGUAGES}


def texts_for(accepted: str) -> Texts:
    """Return the texts in the available language that an `Accept-Language` header prefers."""
    best, best_weight = "en", 0.0
    for entry in accepted[:1000].split(","):
        tag, _, weight = entry.partition(";q=")
        language = tag.strip().lower().partition("-")[0]
        try:
            preference = float(weight or 1)
        except ValueError:
            continue
        if language in LANGUAGES and preference > best_weight:
            best, best_weight = language, preference
    return Texts(best)


def read_asset(name: str) -> str:
    """Return `page.css`, or a script for an element's `js_on_load`, preceded by the texts that it uses as `t.KEY`."""
    asset = Path(__file__).with_name(name).read_text(encoding="utf-8")
    used = set(re.findall(r"\bt\.(\w+)", asset))
    texts = {language: {key: each[key] for key in used} for language, each in texts_by_language().items()}
    return asset if name.endswith(".css") else _TEXTS % json.dumps(texts) + asset
