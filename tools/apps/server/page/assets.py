"""The page's style sheet and scripts."""

import json
import re
from pathlib import Path

from hopgraph.tools.apps.server.page.texts import LANGUAGES, texts_by_language

_TEXTS = "const t = (%s)[document.documentElement.lang];\n"
HEAD = f"""<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E\
%3Cpath d='M3 3v10h10M3 8h6' fill='none' stroke='%232563eb' stroke-width='2'/%3E%3C/svg%3E">
<script>document.documentElement.lang = navigator.languages.map((each) => each.slice(0, 2).toLowerCase())
  .find((each) => {json.dumps(LANGUAGES)}.includes(each)) ?? "en";</script>"""
"""The page's head: its icon and its language."""


def read_asset(name: str) -> str:
    """Return `page.css`, or a script: for `js_on_load` of an element, which it calls `element`, with the texts `t`."""
    asset = Path(__file__).with_name(name).read_text(encoding="utf-8")
    used = set(re.findall(r"\bt\.(\w+)", asset))
    texts = {language: {key: each[key] for key in used} for language, each in texts_by_language().items()}
    return asset if name.endswith(".css") else _TEXTS % json.dumps(texts) + asset
