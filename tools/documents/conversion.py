"""Convert documents (PDF, DOCX, HTML, …) in a subprocess with time and memory limits.

`DocumentConverter` runs this module as a program that reads one path per line and writes one line of JSON for each.
A file that exceeds a limit kills only that subprocess; the next file gets a new one.
"""

import gc
import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, BinaryIO, cast
from zipfile import BadZipFile, ZipFile

from hopgraph.state import SettingsError, SpecError
from hopgraph.tools.documents.elements import Document, Element, UnreadableFileError
from hopgraph.tools.documents.pdf import find_tessdata
from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.io.process_limits import limit_process, stop_timer

MAX_SECONDS, MAX_MEMORY = 900, 4 << 30
"""Limits per file: seconds (a dense PDF page takes about 0.2) and bytes of address space."""
_MAX_FILE, _MAX_UNPACKED, _MAX_TEXT = 256 << 20, 512 << 20, 64 << 20
"""Maximum bytes of a file, bytes of an unpacked archive, and characters of extracted text."""
_MAX_ENTRIES, _MAX_RATIO = 20_000, 200
"""Maximum files in an archive, and its maximum compression ratio if it unpacks to more than 16 MiB."""
_DAMAGED = (LookupError, ValueError, SyntaxError, AttributeError, TypeError, ArithmeticError)
"""Exceptions that the libraries raise for damaged files."""
_OLE = b"\xd0\xcf\x11\xe0"
_SETTINGS = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "OPENPYXL_DEFUSEDXML": "False",  # defusedxml doubles the time; Expat already rejects entity bombs
    "PATH": "",
}
_READERS = {
    **{f".{kind}": ("office", f"read_{kind}") for kind in ("epub", "odp", "ods", "odt", "pptx", "rtf")},
    **{f".{kind}": ("mail", f"read_{kind}") for kind in ("eml", "mbox", "mhtml", "msg")},
    ".mht": ("mail", "read_mhtml"),
    **dict.fromkeys((".htm", ".html", ".xhtml"), ("html", "read_page")),
    **dict.fromkeys((".xlsm", ".xlsx", ".xltm", ".xltx"), ("spreadsheet", "read_xlsx")),
    ".xls": ("spreadsheet", "read_xls"),
    **dict.fromkeys((".docm", ".docx"), ("docx", "read_docx")),
    ".pdf": ("pdf", "read_pdf"),
}
"""Suffix → (module, function), imported on first use."""
CONVERTED = frozenset(_READERS)
_ARCHIVES = frozenset({".docm", ".docx", ".odp", ".ods", ".odt", ".pptx", ".xlsm", ".xlsx", ".xltm", ".xltx", ".epub"})
_MISNAMED = {_OLE: ".xls", b"PK": ".xlsx", b"<?xml": ".xml", b"<": ".html", b"MIME": ".mhtml"}
"""Magic bytes → actual format of `.xls` files that spreadsheet programs open; anything else is delimited text."""
_PACKAGES = ("liteparse", "pypdfium2", "openpyxl", "selectolax", "pptx", "striprtf", "olefile")


def suffix_of(path: Path) -> str:
    """Return the suffix that selects the reader: the inner one of a gzipped text, the real format of an `.xls`."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        inner = Path(path.stem).suffix.lower()
        return suffix if inner in CONVERTED else inner
    if suffix != ".xls":
        return suffix
    with suppress(OSError), open_source(path) as file:
        start = file.read(1000).lstrip(b"\xef\xbb\xbf \r\n\t")
        return next((kind for mark, kind in _MISNAMED.items() if start.startswith(mark)), ".csv")
    return suffix


def can_convert() -> bool:
    """Return whether the extra `documents` is installed."""
    return all(find_spec(name) for name in _PACKAGES)


class DocumentConverter:
    """Convert files one at a time in a subprocess, which stops when this context manager exits.

    `ocr` is passed to `read_pdf`. Raises SettingsError if Tesseract's language data is missing.
    """

    def __init__(self, seconds: int = MAX_SECONDS, memory: int = MAX_MEMORY, ocr: str = "") -> None:
        self._limits, self._ocr = (seconds, memory), ocr
        if ocr:
            find_tessdata(ocr)
        self._process: subprocess.Popen[bytes] | None = None
        self._converting: Path | None = None

    def __enter__(self) -> "DocumentConverter":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = self._converting = None

    def convert(self, path: Path, next_path: Path | None = None) -> Document:
        """Return the content of `path`, and start converting `next_path` while the caller processes it.

        Raises UnreadableFileError if the file cannot be read, SettingsError if the subprocess cannot start.
        """
        line = cast("IO[bytes]", self._start_converting(path).stdout).readline()
        if not line.endswith(b"\n"):
            self.__exit__()
            seconds, memory = self._limits
            limits = f"{seconds:,} seconds or {memory / (1 << 30):.1f} GiB of memory"
            raise UnreadableFileError(f"it cannot be read, or takes more than {limits}")
        self._converting = None
        if next_path:
            self._start_converting(next_path)
        found = json.loads(line)
        if "problem" in found:
            raise UnreadableFileError(found["problem"])
        elements = [Element(*each) for each in found["elements"]]
        return Document(elements, found["title"], found["notes"])

    def _start_converting(self, path: Path) -> subprocess.Popen[bytes]:
        """Return the subprocess after sending it `path`, unless it is already converting that file."""
        if self._converting not in (None, path):
            self.__exit__()
        process = self._process = self._process or self._start()
        if self._converting is None:
            self._converting, to_process = path, cast("IO[bytes]", process.stdin)
            with suppress(BrokenPipeError):
                to_process.write(json.dumps(os.path.abspath(path)).encode() + b"\n")
                to_process.flush()
        return process

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", __name__, *map(str, self._limits), self._ocr]
        try:
            return subprocess.Popen(  # noqa: S603 - this module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # the libraries' warnings on damaged files
                env=os.environ | _SETTINGS | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C reaches only this process, which then stops the subprocess
            )
        except OSError as error:
            problem = f"{sys.executable} cannot be started: {error.strerror or error}"
            raise SettingsError(f"documents are read in a separate process, and {problem}") from None


def convert_document(path: Path, ocr: str = "") -> Document:
    """Convert a file in the current process; `ocr` names the languages of scanned PDF pages."""
    with open_source(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MAX_FILE:
            raise UnreadableFileError(f"it has more than {_MAX_FILE >> 20} MiB")
        suffix = suffix_of(path)
        module, name = _READERS[suffix]
        read: Callable[..., Document] = getattr(import_module(f"hopgraph.tools.documents.{module}"), name)
        try:
            if suffix in _ARCHIVES:
                _check_archive(file, size)
            document = read(file, ocr) if suffix == ".pdf" else read(file)
        except UnreadableFileError:
            raise
        except (BadZipFile, zlib.error, EOFError, NotImplementedError):
            raise UnreadableFileError("it is damaged, or its format does not match its name") from None
        except _DAMAGED as error:
            raise UnreadableFileError(f"it is damaged: {error}"[:200]) from None
    length = sum(len(each.text) + sum(len(cell) for row in each.rows for cell in row) for each in document.elements)
    if length > _MAX_TEXT:
        raise UnreadableFileError(f"it has more than {_MAX_TEXT >> 20} million characters")
    if not length:
        raise UnreadableFileError("it has no text")
    return document


def _check_archive(file: BinaryIO, size: int) -> None:
    if file.read(len(_OLE)) == _OLE:
        raise UnreadableFileError("it is encrypted or in an older format; save it again without a password")
    entries = ZipFile(file).infolist()
    total = sum(each.file_size for each in entries)
    if any(each.flag_bits & 1 for each in entries):
        raise UnreadableFileError("it is encrypted")
    if len(entries) > _MAX_ENTRIES or total > min(_MAX_UNPACKED, max(16 << 20, _MAX_RATIO * size)):
        raise UnreadableFileError(f"it unpacks to {total:,} bytes in {len(entries):,} files, which is too much")
    file.seek(0)


def main() -> None:
    """Convert the files named on standard input, one path per line."""
    seconds, memory, ocr = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    lines, sys.stdout = sys.stdout.buffer, sys.stderr  # keep the libraries' prints out of the results
    for line in sys.stdin.buffer:
        limit_process(seconds, memory)
        gc.disable()  # repeated collections of a growing document take a quarter of the time
        try:
            found: dict[str, object] = vars(convert_document(Path(json.loads(line)), ocr))
        except (UnreadableFileError, SpecError) as error:
            found = {"problem": str(error)}
        except OSError as error:
            found = {"problem": f"it cannot be read: {error.strerror or error}"}
        except (MemoryError, RecursionError):
            found = {"problem": "it takes too much memory"}
        gc.enable()
        stop_timer()  # writing may block until the caller has processed the previous result
        lines.write(json.dumps(found).encode() + b"\n")
        lines.flush()


if __name__ == "__main__":
    main()
