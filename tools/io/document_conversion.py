"""Converting documents (PDF, DOCX, HTML, …) to Markdown by MarkItDown (RTF by striprtf), in a process with limits.

`DocumentConverter` starts this module as a program, which reads a path per line and writes a line of JSON for each.
A file that exhausts its time or memory ends that process and no other; the next file gets a new one.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, cast
from zipfile import BadZipFile, ZipFile

from hopgraph.tools.io.guarded_files import open_source
from hopgraph.tools.io.process_limits import limit_process

CONVERTED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".html", ".htm", ".epub", ".rtf"})
MAX_SECONDS, MAX_MEMORY = 900, 4 << 30
"""Of one file (a dense PDF page takes a fifth of a second); bytes of address space."""
_LARGEST_FILE, _LARGEST_ARCHIVE, _LARGEST_TEXT = 256 << 20, 512 << 20, 64 << 20
"""Bytes of a file, of everything that is packed in it, and characters that it may become."""
_MOST_PAGES, _MOST_ENTRIES, _MOST_TIMES = 5000, 20_000, 200
"""Pages of a PDF, files in an archive, and how many times its own size it may unpack to, beyond 16 MiB."""
_OLE = b"\xd0\xcf\x11\xe0"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class UnreadableFileError(ValueError):
    """A document that cannot be read; the message says why. A folder's other documents are read all the same."""


def can_convert() -> bool:
    """Whether the extra `documents` is installed."""
    return find_spec("markitdown") is not None and find_spec("striprtf") is not None


class DocumentConverter:
    """Converts one file after the other; a context, at whose end the process ends."""

    def __init__(self, seconds: int = MAX_SECONDS, memory: int = MAX_MEMORY) -> None:
        self._limits = (seconds, memory)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "DocumentConverter":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def convert(self, path: Path) -> str:
        """Return a document as Markdown, a comment where each page begins; UnreadableFileError where it cannot be."""
        process = self._process = self._process or self._start()
        to_process, from_process = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        with suppress(BrokenPipeError):
            to_process.write(json.dumps(os.path.abspath(path)).encode() + b"\n")
            to_process.flush()
        line = from_process.readline()
        if not line.endswith(b"\n"):
            self.__exit__()
            seconds, memory = self._limits
            limits = f"{seconds:,} seconds or {memory / (1 << 30):.1f} GiB of memory"
            raise UnreadableFileError(f"it cannot be read, or takes more than {limits}")
        found = json.loads(line)
        if "problem" in found:
            raise UnreadableFileError(found["problem"])
        return found["text"]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this module
            [sys.executable, "-P", "-m", __name__, *map(str, self._limits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the libraries' warnings on damaged files
            env=os.environ | _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,  # Ctrl-C is for this process, which then ends that one
        )


def convert_document(path: Path) -> str:
    """Convert a file here and now, as `DocumentConverter.convert` does elsewhere."""
    with open_source(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > _LARGEST_FILE:
            raise UnreadableFileError(f"it has more than {_LARGEST_FILE >> 20} MiB")
        suffix = path.suffix.lower()
        if suffix in (".docx", ".pptx", ".xlsx", ".epub"):
            _check_archive(file, size)
        own = {".pdf": _convert_pdf, ".rtf": _convert_rtf}.get(suffix)
        text = own(file) if own else _convert_stream(file, suffix)
    if len(text) > _LARGEST_TEXT:
        raise UnreadableFileError(f"it has more than {_LARGEST_TEXT >> 20} million characters")
    if not text.strip():
        raise UnreadableFileError("it has no text")
    return text


def _check_archive(file: BinaryIO, size: int) -> None:
    if file.read(len(_OLE)) == _OLE:
        raise UnreadableFileError("it is encrypted, or of an older format; save it anew without a password")
    try:
        entries = ZipFile(file).infolist()
    except BadZipFile:
        raise UnreadableFileError("it is damaged, or of another kind than its name says") from None
    total = sum(each.file_size for each in entries)
    if any(each.flag_bits & 1 for each in entries):
        raise UnreadableFileError("it is encrypted")
    if len(entries) > _MOST_ENTRIES or total > min(_LARGEST_ARCHIVE, max(16 << 20, _MOST_TIMES * size)):
        raise UnreadableFileError(f"it unpacks to {total:,} bytes in {len(entries):,} files, which is too much")
    file.seek(0)


def _convert_pdf(file: BinaryIO) -> str:
    """Convert page by page, so that each passage knows its page."""
    library: Any = import_module("pypdfium2")
    try:
        document = library.PdfDocument(file)
    except library.PdfiumError as error:
        encrypted = "password" in str(error).lower()
        raise UnreadableFileError("it is encrypted" if encrypted else "it is damaged, or no PDF") from None
    if len(document) > _MOST_PAGES:
        raise UnreadableFileError(f"it has more than {_MOST_PAGES:,} pages")
    parts: list[str] = []
    for number in range(len(document)):
        page, stream = library.PdfDocument.new(), BytesIO()
        page.import_pages(document, [number])
        page.save(stream)
        page.close()
        stream.seek(0)
        text = _convert_stream(stream, ".pdf") if document[number].get_textpage().count_chars() else ""
        if text := text.replace("\f", "\n").strip():
            parts.append(f"<!-- Page number: {number + 1} -->\n\n{text}")
    if not parts:
        raise UnreadableFileError("it has no text; scanned pages have to be recognised (OCR) first")
    return "\n\n".join(parts)


def _convert_rtf(file: BinaryIO) -> str:
    """Return the text of RTF, a paragraph for each of its own; which ones are headings is not known."""
    library: Any = import_module("striprtf.striprtf")
    source = file.read().decode("latin-1")  # other characters are escaped
    if not source.lstrip().startswith("{\\rtf"):
        raise UnreadableFileError("it is no RTF")
    try:
        text = library.rtf_to_text(source, errors="replace").replace("\n", "\n\n")
        return str(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))  # joins surrogate pairs
    except (ValueError, LookupError) as error:
        raise UnreadableFileError(f"it is damaged: {error}") from None


@cache
def _markitdown(suffix: str) -> Any:
    """Make a MarkItDown with the converter of this suffix alone: none that would unpack or fetch anything else."""
    from markitdown import MarkItDown, converters

    of = {".pdf": "Pdf", ".docx": "Docx", ".pptx": "Pptx", ".xlsx": "Xlsx", ".epub": "Epub"}
    made: Any = MarkItDown(enable_builtins=False, enable_plugins=False)
    made.register_converter(getattr(cast("Any", converters), f"{of.get(suffix, 'Html')}Converter")())
    return made


def _convert_stream(file: BinaryIO, suffix: str) -> str:
    from markitdown import MarkItDownException, StreamInfo

    try:
        return str(_markitdown(suffix).convert_stream(file, stream_info=StreamInfo(extension=suffix)).markdown)
    except MarkItDownException as error:
        reason = " ".join(str(error).split("\n")[-1].split())[:200]
        raise UnreadableFileError(f"it cannot be converted: {reason}") from None


def main() -> None:
    """Convert the files whose paths come on the standard input."""
    seconds, memory = map(int, sys.argv[1:])
    lines, sys.stdout = sys.stdout.buffer, sys.stderr  # what a library prints is no line of ours
    for line in sys.stdin.buffer:
        limit_process(seconds, memory)
        try:
            found = {"text": convert_document(Path(json.loads(line)))}
        except UnreadableFileError as error:
            found = {"problem": str(error)}
        except OSError as error:
            found = {"problem": f"it cannot be read: {error.strerror or error}"}
        except (MemoryError, RecursionError):
            found = {"problem": "it takes too much memory"}
        lines.write(json.dumps(found).encode() + b"\n")
        lines.flush()


if __name__ == "__main__":
    main()
