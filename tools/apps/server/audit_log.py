"""Who asked what: a file of JSON lines that its owner alone may read, of bounded size."""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from pydantic import JsonValue
from typing_extensions import override

from hopgraph.state import SettingsError

_BYTES, _FILES = 10_000_000, 9
"""The size of a file, and how many older ones are kept beside it, as NAME.1 and so on."""
_log = logging.getLogger(__name__)


class AuditLog:
    """An open log; a SettingsError where the file cannot be written."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.touch(mode=0o600)
            path.chmod(0o600)
            self._handler = _PrivateFile(path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8", errors="replace")
        except OSError as error:
            raise SettingsError(f"audit log {path}: {error.strerror}; name another file") from None

    def write(self, entry: Mapping[str, JsonValue]) -> None:
        """Add a line with the time of now; one that cannot be written is a warning in the server's log."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}, ensure_ascii=False)
        self._handler.handle(logging.LogRecord(__name__, logging.INFO, "", 0, "%s", (line,), None))

    def close(self) -> None:
        """Close the file; what could not be written before is given up."""
        with suppress(OSError):
            self._handler.close()


class _PrivateFile(RotatingFileHandler):
    @override
    def doRollover(self) -> None:
        super().doRollover()
        Path(self.baseFilename).chmod(0o600)  # before anything is written to it

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        _log.warning("the audit log cannot be written: a question is missing in it")
