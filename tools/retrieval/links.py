"""Links between passages: graph retrieval without a language model.

Passages mention each other's titles. A search boosts the passages that are linked with its best hits in this way, and
those whose title is in the query; on multi-hop questions these are often the ones that one search misses. Authors'
links count, too: HTML's `href`, Markdown's `[text](other.md)`, wikis' `[[Other]]`. The constants were tuned on training
questions of MuSiQue, HotpotQA and 2WikiMultihopQA; docs/models.md has the recall.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import NamedTuple
from urllib.parse import quote, unquote, urldefrag, urljoin

import ahocorasick_rs
import numpy as np
from numpy.typing import NDArray

from hopgraph.tools.retrieval.index_manifest import map_array
from hopgraph.tools.retrieval.passage_metadata import HREFS
from hopgraph.tools.retrieval.passage_store import PassageStore, StoredPassage

_IN_TEXT = re.compile(r"\]\(<?([^()\s<>]{1,300})|\[\[([^][|#\n]{1,200})")
_MAX_LINKED = 10
"""Maximum passages of a document or section that a link leads to: the first ones, under one title."""


class Hyperlinks:
    """Hyperlinks between documents of a corpus, found in two passes over its passages: `read`, then `match`."""

    def __init__(self) -> None:
        self._links = array("q")
        """For each link its row, and the numbers of the document and the section (without one, the document again)."""
        self._numbers = dict[str, int]()
        self._found = defaultdict[int, list[int]](list)
        self._titles = dict[int, str]()

    def read(self, row: int, passage: StoredPassage) -> None:
        """Record a passage's links, resolved against its `url`, else its `source`."""
        if not (base := _base_of(passage)):
            return
        given = passage.metadata.get(HREFS)
        links = [(each, "") for each in given if isinstance(each, str)] if isinstance(given, list) else []
        if "](" in passage.text or "[[" in passage.text:
            links += _IN_TEXT.findall(passage.text)
        for href, name in links:
            with suppress(ValueError):  # not an address
                address, fragment = urldefrag(urljoin(base, href))
                document = f"[[{name.strip()}" if name else _plain(address)
                if document != _plain(base):
                    section = f"{document}#{_slug(unquote(fragment))}" if fragment else document
                    numbers = (self._numbers.setdefault(key, len(self._numbers)) for key in (document, section))
                    self._links.extend((row, *numbers))

    def match(self, row: int, passage: StoredPassage) -> None:
        """Record which links lead to a passage."""
        for key in _keys_of(passage) if self._numbers else ():
            number = self._numbers.get(key)
            if number is not None and self._titles.setdefault(number, passage.title) == passage.title:
                self._found[number].append(row)

    def pairs(self, most: int) -> Iterator[tuple[int, int]]:
        """Yield pairs of linking and linked rows, except to documents and sections with more than `most` links."""
        rows, documents, sections = np.array(self._links, dtype=np.int64).reshape(-1, 3).T
        is_found = np.array([number in self._found for number in range(len(self._numbers))], dtype=bool)
        targets = np.where(is_found[sections], sections, documents)
        links = np.unique(np.stack((targets, rows), axis=1), axis=0)
        is_rare = np.bincount(links[:, 0], minlength=len(self._numbers))[links[:, 0]] <= most
        for number, row in links[is_rare].tolist():
            yield from ((row, each) for each in self._found.get(number, [])[:_MAX_LINKED] if each != row)


def _base_of(passage: StoredPassage) -> str:
    url, source = passage.metadata.get("url"), passage.metadata.get("source")
    if isinstance(url, str) and url.startswith(("https://", "http://")):
        return url
    return quote(source) if isinstance(source, str) else ""


def _keys_of(passage: StoredPassage) -> list[str]:
    """Return the keys of a passage's document, also without suffix and `index`, and each with its section."""
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


FOLDER = "links"
LINK_DEPTH = 100
"""Minimum number of hits to take from the base index."""
_SEEDS = 10
"""Number of best hits, which boost the passages linked with them."""
_FORWARD, _BACKWARD = 0.7, 0.49
"""Share of a seed's score for a passage that it mentions, and for one that mentions it."""
_FORWARD_DAMPING, _BACKWARD_DAMPING = 0.3, 0.5
"""Exponents of the number of links by which these shares are divided: the more links, the less each says."""
_KEPT = 0.6
"""Share of its own score that a boosted passage keeps."""
_NAMED = 0.5
"""Score of a passage whose title is in the query, divided by the square root of their number."""
_MIN_NAME, _MAX_NAME_WORDS = 4, 8
"""Minimum characters of a name; maximum words of a name that is looked up in a query."""
_MAX_TITLE = 200
"""Characters of a title's last heading that may be a name."""
_MAX_NAMESAKES, _MAX_MENTIONS = 10, 100
"""Names are ignored if more passages have them, or mention them (and more than 1 % of the corpus)."""
_MAX_QUERY_WORDS = 512
"""The first words of a query, in which names are looked up."""
_FOLD = str.maketrans({"\u2018": "'", "\u2019": "'", "\u2013": "-", "\u2014": "-", "\u00a0": " "})


class LinkedRow(NamedTuple):
    """A passage found by the search itself or by a link."""

    row: int
    score: float
    """Relative to the best hit without links, which has 1."""
    source: int | None
    """The row of the passage whose link led here; None if the search found it."""


@dataclass(frozen=True, eq=False)
class Links:
    """The link graph in compressed sparse rows: row r has `targets[starts[r] : starts[r + 1]]`."""

    forward_starts: NDArray[np.int64]
    forward_targets: NDArray[np.int32]
    backward_starts: NDArray[np.int64]
    backward_targets: NDArray[np.int32]
    name_hashes: NDArray[np.uint64]
    """Of the distinct lower-cased names, ascending."""
    name_starts: NDArray[np.int64]
    name_targets: NDArray[np.int32]

    def save(self, folder: Path) -> None:
        """Write the arrays into their folder in the index."""
        (folder / FOLDER).mkdir()
        for each in fields(self):
            np.save(folder / FOLDER / f"{each.name}.npy", getattr(self, each.name), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path, passages: int) -> "Links | None":
        """Map the arrays of an index with this many passages; None if it has no links, CorpusError if damaged."""
        if not (folder / FOLDER).is_dir():
            return None
        lengths = {"forward_starts": passages + 1, "backward_starts": passages + 1}
        names = [each.name for each in fields(cls)]
        return cls(*(map_array(folder / FOLDER / f"{name}.npy", lengths.get(name)) for name in names))

    def follow(self, query: str, hits: Sequence[tuple[int, float]], k: int) -> list[LinkedRow]:
        """Return at most k rows, best first, ties in the order of the hits.

        `hits` are the rows and scores of any retriever, best first: LINK_DEPTH of them, or as many as it finds. Those
        beyond LINK_DEPTH count as 0.
        """
        scores = _normalize_scores(hits)
        named = self._rows_named_in(query)
        for row in named:
            scores[row] = scores.get(row, 0.0) + _NAMED / len(named) ** 0.5
        best = max(scores.values(), default=1.0) or 1.0
        scores = {row: scores[row] / best for row in sorted(scores, key=lambda row: -scores[row])}
        values, seeds = dict[int, float](), dict[int, int]()
        for seed in list(scores)[:_SEEDS]:
            for share, targets in self._shares(seed):
                value = scores[seed] * share
                for row in targets:
                    if value > values.get(row, 0.0):
                        values[row], seeds[row] = value, seed
        sources = {row: seed for row, seed in seeds.items() if values[row] > scores.get(row, 0.0)}
        scores |= {row: max(own := scores.get(row, 0.0), _KEPT * own + value) for row, value in values.items()}
        found = sorted(scores, key=lambda row: -scores[row])[: max(k, 0)]
        return [LinkedRow(row, scores[row], sources.get(row)) for row in found]

    def _shares(self, seed: int) -> Iterator[tuple[float, list[int]]]:
        """Yield the passages linked with a seed, and the share of its score that each of them gets."""
        for starts, targets, share, damping, most in (
            (self.forward_starts, self.forward_targets, _FORWARD, _FORWARD_DAMPING, None),
            (self.backward_starts, self.backward_targets, _BACKWARD, _BACKWARD_DAMPING, _MAX_MENTIONS),
        ):
            linked = targets[starts[seed] : starts[seed + 1]].tolist()
            if linked and (most is None or len(linked) <= most):
                yield share * len(linked) ** -damping, linked

    def _rows_named_in(self, query: str) -> list[int]:
        """Return the rows of passages whose names are in the query, ascending."""
        words = _words(query)[:_MAX_QUERY_WORDS]
        lengths = range(1, min(_MAX_NAME_WORDS, len(words)) + 1)
        hashes = {_hash(words[start : start + n]) for n in lengths for start in range(len(words) - n + 1)}
        wanted = np.fromiter(hashes, np.uint64, len(hashes))
        places = np.searchsorted(self.name_hashes, wanted)
        within = places < len(self.name_hashes)
        places, wanted = places[within], wanted[within]
        numbers = places[self.name_hashes[places] == wanted].tolist()
        starts = self.name_starts
        return sorted({row for n in numbers for row in self.name_targets[starts[n] : starts[n + 1]].tolist()})


def _normalize_scores(hits: Sequence[tuple[int, float]]) -> dict[int, float]:
    """Scale the scores of the first LINK_DEPTH hits to 0 … 1; the others get 0."""
    if not hits:
        return {}
    best, lowest = hits[0][1], hits[:LINK_DEPTH][-1][1]
    return {row: max(score - lowest, 0.0) / (best - lowest) if best > lowest else 1.0 for row, score in hits}


def find_links(passages: PassageStore) -> Links:
    """Find the links of a corpus of any size, by reading its passages twice.

    A passage links to those whose names are in its text, in the same case, at word boundaries; of overlapping names the
    longest counts. A file's name is also a name of its first passage. Too frequent names are ignored. Hyperlinks to
    documents count as well.
    """
    count = len(passages)
    most, hyperlinks = max(_MAX_MENTIONS, count // 100), Hyperlinks()
    names, rows_of_names = _collect_names(passages, hyperlinks)
    mentioned, mentioning = _find_mentions(passages, list(names), hyperlinks)
    is_rare = np.bincount(mentioned, minlength=len(names))[mentioned] <= most
    mentioned, mentioning = mentioned[is_rare], mentioning[is_rare]
    starts, rows = _to_csr(*rows_of_names, len(names))
    namesakes = np.diff(starts)[mentioned]
    sources = np.repeat(mentioning, namesakes)
    offsets = np.arange(len(sources)) - np.repeat(np.cumsum(namesakes) - namesakes, namesakes)
    targets = rows[np.repeat(starts[mentioned], namesakes) + offsets]
    linked = np.fromiter((source * count + target for source, target in hyperlinks.pairs(most)), np.int64)
    pairs = np.unique(np.concatenate(((sources * count + targets)[sources != targets], linked)))
    sources, targets = np.divmod(pairs, max(count, 1))
    forward, backward = _to_csr(sources, targets, count), _to_csr(targets, sources, count)
    numbers = np.fromiter((_hash(_words(name)) for name in names), np.uint64, len(names))
    hashes, places = np.unique(numbers, return_inverse=True)
    return Links(*forward, *backward, hashes, *_to_csr(places[rows_of_names[0]], rows_of_names[1], len(hashes)))


def names_of(title: str) -> set[str]:
    """Return the names by which texts mention a title: its last heading, without "(film)", with and without an article.

    Names have at least 4 characters, and a capital or a digit.
    """
    last = " ".join(title.translate(_FOLD).rsplit(" > ", 1)[-1][:_MAX_TITLE].split())
    bare = re.sub(r" ?\([^()]*\)$", "", last) or last
    found = {bare, re.sub(r"^(?:The|A|An) (?=\S)", "", bare)}
    return {name for name in found if len(name) >= _MIN_NAME and any(c.isupper() or c.isdigit() for c in name)}


def _collect_names(
    passages: PassageStore, hyperlinks: Hyperlinks
) -> tuple[dict[str, int], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the names that are not too frequent, with their numbers; and pairs of a name's number and a row."""
    met, numbers, rows, files = dict[str, int](), array("q"), array("q"), set[str]()
    for row, passage in enumerate(passages):
        hyperlinks.read(row, passage)
        own, file = names_of(passage.title), passage.metadata.get("source")
        if isinstance(file, str) and file not in files:
            files.add(file)
            own.add(PurePath(file).name)
        for name in sorted(own - {""}):
            numbers.append(met.setdefault(name, len(met)))
            rows.append(row)
    all_numbers, all_rows = np.array(numbers, dtype=np.int64), np.array(rows, dtype=np.int64)
    kept = np.bincount(all_numbers, minlength=len(met)) <= _MAX_NAMESAKES
    renumbered = np.cumsum(kept) - 1
    names = {name: int(renumbered[number]) for name, number in met.items() if kept[number]}
    chosen = kept[all_numbers]
    return names, (renumbered[all_numbers[chosen]], all_rows[chosen])


def _find_mentions(
    passages: PassageStore, names: list[str], hyperlinks: Hyperlinks
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each name that a passage mentions, and the passage's row."""
    finder = ahocorasick_rs.AhoCorasick(names, matchkind=ahocorasick_rs.MatchKind.LeftmostLongest)
    mentioned, mentioning = array("q"), array("q")
    for row, passage in enumerate(passages):
        hyperlinks.match(row, passage)
        text = passage.text.translate(_FOLD)
        found = {
            number
            for number, start, end in finder.find_matches_as_indexes(text)
            if not (start and text[start - 1].isalnum()) and not text[end : end + 1].isalnum()
        }
        mentioned.extend(found)
        mentioning.extend([row] * len(found))
    return np.array(mentioned, dtype=np.int64), np.array(mentioning, dtype=np.int64)


def _to_csr(
    sources: NDArray[np.int64], targets: NDArray[np.int64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    order = np.lexsort((targets, sources))
    starts = np.concatenate(([0], np.cumsum(np.bincount(sources, minlength=count))))
    return starts.astype(np.int64), targets[order].astype(np.int32)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.translate(_FOLD).lower())


def _hash(words: Sequence[str]) -> int:
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=8).digest(), "big")
