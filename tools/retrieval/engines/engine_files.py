"""The files of a source, as they are and as a collection has them.

A collection has no place for a list of files of any length that changes together with its passages. So each passage
bears a digest of its file, and the last one of a file, which is stored last, its hash: a file without it is incomplete.
"""

from collections.abc import Mapping
from hashlib import blake2b, sha256
from pathlib import Path
from typing import NamedTuple

from hopgraph.tools.retrieval.corpora import Corpus
from hopgraph.tools.retrieval.index_sources import compare_files, hash_files


class _StoredFile(NamedTuple):
    hash: str
    passages: int


class SourceFiles:
    """What of a source is to be read."""

    def __init__(self, corpus: Corpus, stored: Mapping[str, str]) -> None:
        """Compare a source's files with the records of `SearchEngine.list_files`; CorpusError for an unreadable one."""
        self._corpus = corpus
        self._source = _digest(str(corpus.path.resolve()))
        self._hashes = hash_files(corpus)
        self._stored: dict[str, _StoredFile] = {}
        for key, record in stored.items():
            if key.startswith(self._source):
                file_hash, passages, name = record.split(" ", 2)
                self._stored[name] = _StoredFile(file_hash, int(passages))
        self.changes = compare_files(((name, each.hash) for name, each in self._stored.items()), self._hashes)
        differ = {*self.changes.added, *self.changes.changed}
        self.to_read = frozenset(path for path in corpus.files if corpus.name_of(path) in differ)
        self.unchanged_passages = sum(self._stored[name].passages for name in self._hashes if name not in differ)
        names = "".join(f"{each} {name}\n" for name, each in self._hashes.items())
        self.fingerprint = sha256(names.encode()).hexdigest()
        """SHA-256 over the hashes and names of the files as they are."""

    @property
    def known(self) -> bool:
        """Whether the collection has a file of this source."""
        return bool(self._stored)

    def key(self, name: str) -> str:
        """Return what a file is called in the collection: hexadecimal digits, the same for all files of a source."""
        return self._source + _digest(name)

    def key_of(self, path: Path) -> str:
        """Return the key of one of the source's files by its path."""
        return self.key(self._corpus.name_of(path))

    def record(self, path: Path, passages: int) -> str:
        """Return the record of a file with so many passages."""
        name = self._corpus.name_of(path)
        return f"{self._hashes[name]} {passages} {name}"


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).hexdigest()
