"""Links that authors set between documents: HTML's `href`, Markdown's `[text](other.md)`, wikis' `[[Other]]`."""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import quote, unquote, urldefrag, urljoin

import numpy as np

from hopgraph.tools.retrieval.passage_metadata import HREFS
from hopgraph.tools.retrieval.passage_store import StoredPassage

_IN_TEXT = re.compile(r"\]\(<?([^()\s<>]{1,300})|\[\[([^][|#\n]{1,200})")
_MOST_PASSAGES = 10
"""Passages of a document, or of a section, that a link leads to: the first ones, under one title."""


class Hyperlinks:
    """Links between the documents of one corpus, found in two passes over its passages: `read`, then `match`."""

    def __init__(self) -> None:
        self._links = array("q")
        """Of each link its row, and the numbers of a document and of its section, or of the document again."""
        self._numbers = dict[str, int]()
        self._found = defaultdict[int, list[int]](list)
        self._titles = dict[int, str]()

    def read(self, row: int, passage: StoredPassage) -> None:
        """Note what a passage links to: relative to its `url`, else to its `source`."""
        if not (base := _base_of(passage)):
            return
        given = passage.metadata.get(HREFS)
        links = [(each, "") for each in given if isinstance(each, str)] if isinstance(given, list) else []
        if "](" in passage.text or "[[" in passage.text:
            links += _IN_TEXT.findall(passage.text)
        for href, name in links:
            with suppress(ValueError):  # it is not an address
                address, fragment = urldefrag(urljoin(base, href))
                document = f"[[{name.strip()}" if name else _plain(address)
                if document != _plain(base):
                    section = f"{document}#{_slug(unquote(fragment))}" if fragment else document
                    numbers = (self._numbers.setdefault(key, len(self._numbers)) for key in (document, section))
                    self._links.extend((row, *numbers))

    def match(self, row: int, passage: StoredPassage) -> None:
        """Note which links lead to a passage."""
        for key in _keys_of(passage) if self._numbers else ():
            number = self._numbers.get(key)
            if number is not None and self._titles.setdefault(number, passage.title) == passage.title:
                self._found[number].append(row)

    def pairs(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield rows and the rows that they link to, but for documents and sections that more than `most` link to."""
        rows, documents, sections = np.array(self._links, dtype=np.int64).reshape(-1, 3).T
        is_found = np.array([number in self._found for number in range(len(self._numbers))], dtype=bool)
        targets = np.where(is_found[sections], sections, documents)
        links = np.unique(np.stack((targets, rows), axis=1), axis=0)
        seldom = np.bincount(links[:, 0], minlength=len(self._numbers))[links[:, 0]] <= most
        for number, row in links[seldom].tolist():
            yield from ((row, each) for each in self._found.get(number, [])[:_MOST_PASSAGES] if each != row)


def _base_of(passage: StoredPassage) -> str:
    url, source = passage.metadata.get("url"), passage.metadata.get("source")
    if isinstance(url, str) and url.startswith(("https://", "http://")):
        return url
    return quote(source) if isinstance(source, str) else ""


def _keys_of(passage: StoredPassage) -> list[str]:
    """Return the names of a passage's document, also without suffix and `index`, each with its section, too."""
    if not (base := _base_of(passage)):
        return []
    path = _plain(urldefrag(base)[0])
    folder, _, file = path.rpartition("/")
    stem = file.rpartition(".")[0] or file
    section = str(passage.metadata.get("section", "")).rsplit(" > ", 1)[-1]
    names = {path, folder if stem in ("index", "README") else f"{folder}/{stem}".lstrip("/"), f"[[{stem}"}
    return [*names, *(f"{name}#{_slug(section)}" for name in names if section)]


def _plain(address: str) -> str:
    return unquote(address).strip("/").removeprefix("./")


def _slug(heading: str) -> str:
    return re.sub(r"[\W_]+", "-", heading.lower()).strip("-")
