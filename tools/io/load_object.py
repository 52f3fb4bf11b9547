"""Load an object from Python code that a person names: `FILE.py:NAME`, or `PACKAGE.MODULE:NAME`.

To load is to run. What comes here stands on the command line of the person who runs it, or was installed by them; never
what the caller of a server, a model or a stored file says.
"""

import hashlib
import importlib
import re
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from hopgraph.state import HopgraphError, SpecError

_FILE = re.compile(r"(?P<place>.+\.py)(?::(?P<name>[^\W\d]\w*))?", re.DOTALL)
_MODULE = re.compile(r"(?P<place>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<name>[^\W\d]\w*)")


class CodePlace(NamedTuple):
    """Where an object is."""

    place: str
    """A module's dotted name, or the absolute path of a .py file."""
    name: str

    def __str__(self) -> str:
        return f"{self.place}:{self.name}"

    @property
    def is_file(self) -> bool:
        """Return whether it names a file rather than a module."""
        return self.place.endswith(".py")


def parse_place(text: str, default: str) -> CodePlace | None:
    """Parse `FILE.py`, `FILE.py:NAME` or `MODULE:NAME`; None otherwise. `default` is the name for a bare file."""
    if found := _FILE.fullmatch(text):
        return CodePlace(str(Path(found["place"]).expanduser().resolve()), found["name"] or default)
    found = _MODULE.fullmatch(text)
    return CodePlace(found["place"], found["name"]) if found else None


def load_object(place: CodePlace, *, installed: bool = False) -> tuple[object, ModuleType]:
    """Return the object and its module, running the module's code unless it has already run.

    A file's own folder, and for a module the working directory, come last in the search for what it imports. What an
    installed package offers is not looked for in the working directory, where a file may have the package's name.
    SpecError for no such file, module or name, or an error in the code; it names the line.
    """
    if place.is_file and not Path(place.place).is_file():
        raise SpecError(f"{place.place}: there is no such file")
    if not place.is_file and not installed:
        _search_in(Path.cwd())
    try:
        module = _import_file(Path(place.place)) if place.is_file else importlib.import_module(place.place)
    except HopgraphError:
        raise
    except Exception as error:
        raise SpecError(f"{place.place} cannot be loaded: {_describe(error, place.place)}") from error
    if not hasattr(module, place.name):
        raise SpecError(f"{place.place} has no {place.name!r}")
    return getattr(module, place.name), module


def _import_file(path: Path) -> ModuleType:
    """Import a file under a name that is the same in every process, so that its classes can be pickled."""
    name = f"hopgraph_file_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{path} is not a Python file")
    _search_in(path.parent)
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _search_in(folder: Path) -> None:
    """Let imports also search a folder, last, so that it shadows nothing installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _describe(error: Exception, place: str) -> str:
    """Describe an error in one line, with the line of the file where it occurred, if known."""
    if isinstance(error, SyntaxError):
        where = error.filename, error.lineno
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = next((each for each in reversed(frames) if each.filename == place), frames[-1])
        where = own.filename, own.lineno
    said = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return f"{Path(where[0] or place).name}, line {where[1]}: {type(error).__name__}: {said:.300}"
