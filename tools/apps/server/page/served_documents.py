"""Source documents, opened from the page by id, never by path.

A document is sent only if the index records it and it still lies within the indexed source. Documents are untrusted: a
browser opens them in a separate origin, without scripts, forms or requests.
"""

import codecs
import mimetypes
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from starlette.responses import FileResponse

from hopgraph.state import Citation, HopgraphError
from hopgraph.tools.apps.server.index_upload import document_id
from hopgraph.tools.documents.conversion import CONVERTED
from hopgraph.tools.documents.elements import UnreadableFileError
from hopgraph.tools.documents.encodings import DAMAGED_UTF_8, UTF_8, detect_encoding
from hopgraph.tools.retrieval.corpora.formats import TEXT
from hopgraph.tools.retrieval.index_folder import INDEX_MANIFEST
from hopgraph.tools.retrieval.index_manifest import read_manifest
from hopgraph.tools.retrieval.index_sources import read_sources

_ACTIVE = {
    ".htm": "text/html",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".xhtml": "application/xhtml+xml",
}
"""Types that could run scripts, if it were not for the policy sent with them."""
_SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
_PDF_POLICY = "script-src 'none'; frame-ancestors 'none'"
"""Browsers do not show PDFs in a sandbox, and do not run their scripts on our origin."""
_FRAGMENT_WORDS = 3  # at each end of a quote in a text fragment; more might span two lines


def list_documents(index: Path) -> Mapping[str, tuple[Path, str]]:
    """Return an index's documents: id → (source, name in the source)."""
    try:
        found = (index / INDEX_MANIFEST).stat()
        return _read_documents(index.resolve(), found.st_mtime_ns, found.st_ino)
    except (OSError, HopgraphError):  # being replaced, or damaged, which a question to it reports
        return {}


@lru_cache(maxsize=64)
def _read_documents(index: Path, *_changed: int) -> Mapping[str, tuple[Path, str]]:
    manifest = read_manifest(index)
    if manifest.corpus.format != TEXT:
        return {}
    sources = [(index.parent / each.path, each.files) for each in reversed(read_sources(index, manifest))]
    return {document_id(file.name): (source, file.name) for source, files in sources for file in files}


def find_document(index: Path, identity: str) -> Path | None:
    """Return a document's path; None if the index has none with this id, or it is not within its source."""
    source, name = list_documents(index).get(identity, (None, ""))
    if source is None:
        return None
    try:
        root = source.resolve(strict=True)
        place = root if root.is_file() and root.name == name else (root / name).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None
    return place if place.is_relative_to(root) and place.is_file() else None


def send_document(path: Path, name: str) -> FileResponse:
    """Return a response with a document, inline if browsers can show it, else as a download."""
    suffix = Path(name).suffix.lower()
    is_text = suffix in _ACTIVE or suffix not in CONVERTED
    charset = _charset(path) if is_text else ""
    shown = suffix == ".pdf" or bool(charset)
    kind = f"{_ACTIVE.get(suffix, 'text/plain')}; charset={charset}" if charset else mimetypes.guess_type(name)[0]
    kind = "application/octet-stream" if kind is None or (is_text and not charset) else kind
    headers = {
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": _PDF_POLICY if suffix == ".pdf" else _SANDBOX,
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }
    shown_name = Path(name).name.encode("utf-8", "replace").decode()  # file names need not be valid text
    disposition = "inline" if shown else "attachment"
    return FileResponse(path, 200, headers, kind, filename=shown_name, content_disposition_type=disposition)


def _charset(path: Path) -> str:
    """Return the charset of a text file; empty if it is not text or cannot be read."""
    try:
        encoding = detect_encoding(path)
    except UnreadableFileError:
        return ""
    return "utf-8" if encoding in (UTF_8, DAMAGED_UTF_8) else codecs.lookup(encoding).name


def place_in_document(name: str, citation: Citation) -> str:
    """Return the URL fragment that makes a browser show the cited place; empty if browsers cannot."""
    suffix = Path(name).suffix.lower()
    if suffix == ".pdf":
        page = citation.get("page")
        return f"#page={page}" if isinstance(page, int) else ""
    words = citation["quote"].split()
    if suffix in CONVERTED - _ACTIVE.keys() or not words or words[0] == "|":
        return ""
    ends = [words] if len(words) <= 2 * _FRAGMENT_WORDS else [words[:_FRAGMENT_WORDS], words[-_FRAGMENT_WORDS:]]
    return "#:~:text=" + ",".join(quote(" ".join(each), safe="").replace("-", "%2D") for each in ends)
