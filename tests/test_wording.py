"""Phrases that a native engineer would not write stay rare; `make check` runs this.

Each had many uses once; a tenth of those is allowed. A use that is fine by itself (a quotation, a term) counts, too.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

LIMITS = {
    r"(?<!there )\bis no (?!longer|more|such)\w+": 7,  # say: is not a
    r"(?<!there )\bare no (?!longer|more|such|faster)\w+": 1,
    r"\bof (?:others|one's own|its own|their own|ours)\b": 7,  # say: its own X, another X, our X
    r", as (?:`[^`]+`|“[^”]+”)(?=[.,;)]| or | and )": 4,  # say: e.g.
    r"\bwhere (?:(?:there (?:is|are)|it has|they have) none)\b": 3,  # say: if there is none
    r"; none: ": 1,  # say: Default: …
    r'"""What\b': 10,  # say what is returned, or name the thing
    r'"""Whether\b': 10,  # say: Return whether …, True if …
    r"\bbesides\b": 2,  # say: in addition to, other than
    r"\banew\b": 3,  # say: again, re-
    r"\b(?:is|are|was|were) (?:ended|begun)\b": 0,  # say: stopped, started
}
"""Pattern → how many uses are allowed."""


def texts() -> Iterator[Path]:
    """Yield the code that is installed, the guides, prompts and the pages of the top folder."""
    yield ROOT / "Makefile"
    yield from ROOT.glob("*.md")
    for folder in ("docs", "examples", "graphs", "nodes", "package", "state", "tools"):
        yield from (
            path for path in (ROOT / folder).rglob("*") if path.suffix in {".md", ".py"} and "server" not in path.parts
        )


@pytest.mark.parametrize("pattern", LIMITS)
def test_phrases_to_avoid_are_rare(pattern: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {text[max(0, use.start() - 30) : use.end() + 30]!r}"
        for path in texts()
        for text in [path.read_text(encoding="utf-8")]
        for use in re.finditer(pattern, text)
    ]
    assert len(found) <= LIMITS[pattern], "\n".join(found)
