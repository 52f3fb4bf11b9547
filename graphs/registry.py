"""The methods: those in this folder, those of installed packages, and those given by path."""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Literal, cast

from langgraph.graph.state import CompiledStateGraph

from hopgraph import graphs
from hopgraph.graphs import baselines
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.hosted_graph import AnyGraph, host_graph, keys_of
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import Context as Settings
from hopgraph.state import SettingsError, SpecError
from hopgraph.state.chat import METHOD_ALIASES as ALIASES
from hopgraph.state.errors import did_you_mean
from hopgraph.state.schemas import AnswerOutput
from hopgraph.tools.io.load_object import CodePlace, load_object, parse_place

METHOD_PACKAGES = "hopgraph.methods"
"""The entry-point group under which packages register methods: name → a compiled graph."""
Group = Literal["papers", "combined", "step_by_step", "one_search", "no_search", "others"]
GROUPS: dict[Group, str] = {
    "papers": "The methods of the five papers",
    "combined": "Several methods in turn",
    "step_by_step": "Baselines that search step by step",
    "one_search": "Baselines that search once",
    "no_search": "Baselines without search",
    "others": "Your own and installed packages",
}
"""Group → title; `--methods` accepts groups, too."""
_GRAPH = "graph"
_RESERVED = frozenset({"all", "auto", "chat", "registry", *ALIASES, *GROUPS})
_OURS = f"{graphs.__name__.partition('.')[0]}."
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PAPER = re.compile(r'Paper: [^"]*"(?P<title>[^"]+)" \((?P<authors>[^()]+), arXiv (?P<arxiv>[\d.]+)')
_LISTED: tuple[tuple[Group, str], ...] = (
    ("papers", "migres blendfilter genground ra_isf tree_of_reviews chain_of_reviews"),
    ("combined", "cascade adaptive_rag"),
    ("no_search", "direct cot cot_sc"),
    ("one_search", "one_step one_step_cot vanilla vanilla_s summ snippet rerank skr_knn replug self_rag"),
    (
        "step_by_step",
        "react self_ask iter_retgen itrg ircot dsp agent search_o1 search_r1 verify_and_edit vtg searchain",
    ),
    ("no_search", "least_to_most genread"),
    ("one_search", "grg"),
    ("no_search", "gold_passages"),
)
_GROUP_OF: dict[str, Group] = {name: group for group, names in _LISTED for name in names.split()}
"""Our methods in listing order, each with its group."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Method:
    """A method: its graph and what it declares about itself."""

    name: str
    graph: CompiledMethod
    Context: Any
    """Its settings: a subclass of `hopgraph.state.Context`."""
    docstring: str
    """The docstring of its module: a first line `Title: what it does`, and more; may be empty."""
    place: CodePlace
    drawn_graph: AnyGraph
    """The graph to draw: an external graph as it is, without the nodes around it."""
    file: str

    @property
    def is_built_in(self) -> bool:
        """Return whether it ships with hopgraph."""
        return _is_built_in(self.place)

    @property
    def group(self) -> Group:
        """Return the method's group."""
        return _GROUP_OF.get(self.name, "others") if self.is_built_in else "others"

    @property
    def takes_gold_passages(self) -> bool:
        """Return whether the caller also supplies the passages."""
        return "gold_passages" in keys_of(self.graph, "input")

    def build(self) -> MethodGraph:
        """Return the uncompiled graph, to be compiled with a checkpointer."""
        return cast("MethodGraph", self.graph.builder).copy()


class Methods(Mapping[str, Method]):
    """The methods by name and short name; each is loaded on first access."""

    def __init__(self, places: Mapping[str, CodePlace]) -> None:
        self._places, self._loaded = dict(places), dict[str, Method]()

    def __getitem__(self, name: str) -> Method:
        full = ALIASES.get(name, name)
        if full not in self._loaded:
            self._loaded[full] = _load(self._places[full], full)
        return self._loaded[full]

    def __contains__(self, name: object) -> bool:
        return name in self._places or name in ALIASES

    def __iter__(self) -> Iterator[str]:
        yield from (*self._places, *ALIASES)

    def __len__(self) -> int:
        return len(self._places) + len(ALIASES)

    def add(self, place: CodePlace) -> Method:
        """Add the method at a place under its own name, once, however often it is given.

        It replaces an installed package's method of that name, unless that one is in use. SpecError: there is
        none. SettingsError: another method has the name.
        """
        known = next((name for name, each in self._places.items() if each == place), None)
        if known is not None:
            return self[known]
        method = _load(place)
        other = self._places.get(method.name)
        if other and (method.name in self._loaded or _is_built_in(other)):
            raise SettingsError(
                f"{place}: a method named {method.name!r} already exists ({other}); change Context.method"
            )
        self._places[method.name], self._loaded[method.name] = place, method
        return method

    def external(self) -> list[str]:
        """List the loaded methods that are not hopgraph's, for `find_method` in another process."""
        own = ((name, each) for name, each in self._loaded.items() if not each.is_built_in)
        return [name if _FOUND.get(name) == each.place else str(each.place) for name, each in own]


def _load(place: CodePlace, name: str = "") -> Method:
    found, module = load_object(place, installed=bool(name))
    if not isinstance(found, CompiledStateGraph):
        raise SpecError(f"{place} is a {type(found).__name__}, not a compiled LangGraph graph; call builder.compile()")
    graph = cast("AnyGraph", found)
    own = graph.context_schema if isinstance(graph.context_schema, type) else None
    own_name = own.method if own is not None and issubclass(own, Settings) else ""
    is_of_ours = bool(own_name) and own is not None and own.__module__.startswith(_OURS)
    is_variant = is_of_ours and not _is_built_in(place) and isinstance(graph.builder, MethodGraph)
    own_name = (name or _name_of(place)) if is_variant else own_name
    name = name or own_name or _name_of(place)
    if own_name not in ("", name):
        raise SpecError(f"{place}: it is registered as {name!r}, but its Context.method is {own_name!r}")
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise SpecError(f"{place}: invalid method name {name!r:.80}; use lower-case letters, digits and _")
    graph = _renamed(graph, name, place, module) if is_variant else graph
    gives_all = AnswerOutput.__annotations__.keys() <= set(keys_of(graph, "output"))
    method = graph if isinstance(graph, CompiledMethod) and own_name and gives_all else host_graph(graph, name)
    return Method(name, method, method.context_schema, module.__doc__ or "", place, graph, module.__file__ or "")


def _renamed(variant: AnyGraph, name: str, place: CodePlace, module: ModuleType) -> AnyGraph:
    """Rename a variant of a built-in method; its Context is stored in its module, where other processes can find it."""
    title = f"{place.name}_context"
    own = type(title, (cast("Any", variant).context_schema,), {"__module__": module.__name__, "method": name})
    setattr(module, title, own)
    builder = cast("MethodGraph", variant.builder).copy()
    builder.context_schema = own
    return builder.compile_as(variant)


def _is_built_in(place: CodePlace) -> bool:
    return place.place.startswith(f"{graphs.__name__}.")


def find_paper(about: str) -> dict[str, str] | None:
    """Return the paper named in a method's docstring, e.g. `Paper: "Its Title" (Shao et al., 2023, arXiv 2305.15294)`.

    None if there is no such line; `authors` holds the first author and the year.
    """
    found = _PAPER.search(" ".join(about.split()))
    return {**found.groupdict(), "url": f"https://arxiv.org/abs/{found['arxiv']}"} if found else None


def _name_of(place: CodePlace) -> str:
    """Name a graph without our settings after its file or module, or as it is called there."""
    file = Path(place.place).stem if place.is_file else place.place.rpartition(".")[2]
    return re.sub(r"\W+", "_", (file if place.name == _GRAPH else place.name).lower())


def _built_in() -> dict[str, CodePlace]:
    """List the methods of this folder, in order."""
    folders = {graphs.__name__: graphs.__path__, baselines.__name__: baselines.__path__}
    found = {
        each.name: CodePlace(f"{package}.{each.name}", _GRAPH)
        for package, path in folders.items()
        for each in iter_modules(path)
        if not each.ispkg and each.name not in _RESERVED
    }
    return {name: found.pop(name) for name in _GROUP_OF} | found


def _installed(taken: Mapping[str, CodePlace]) -> dict[str, CodePlace]:
    """List the methods registered by packages, without importing them, as one may be importing this module."""
    found: dict[str, CodePlace] = {}
    for each in entry_points(group=METHOD_PACKAGES):
        if each.name in taken or each.name in found:
            _log.warning("skipping method %r of %s: another method has this name", each.name, each.value)
            continue
        found[each.name] = CodePlace(each.module, each.attr or _GRAPH)
    return found


_FOUND = _built_in()
_FOUND.update(_installed(_FOUND))
METHODS = Methods(_FOUND)
"""Every method by name and by short name."""


def find_method(given: str) -> Method:
    """Return the method that a person names on their own command line: by name, or by path, whose code is executed.

    The path is `FILE.py`, `FILE.py:NAME` or `MODULE:NAME`; the method is then added to `METHODS`. Names from the
    caller of a server, or read from a file, are only looked up in `METHODS`.

    Raises:
        SettingsError: there is no such method. SpecError: it cannot be loaded.
    """
    name = given.strip()
    if name.lower() in METHODS:
        return METHODS[name.lower()]
    if place := parse_place(name, _GRAPH):
        return METHODS.add(place)
    hint = f"; did you mean the file {name}.py?" if Path(f"{name}.py").is_file() else did_you_mean(name, METHODS)
    raise SettingsError(f"method {given!r:.80} is unknown{hint}")


def list_methods() -> dict[str, Method]:
    """Load and return every method; one whose package fails to load is skipped with a warning."""
    found: dict[str, Method] = {}
    for name in METHODS:
        try:
            found.setdefault(METHODS[name].name, METHODS[name])
        except SpecError as error:
            _log.warning("skipping method %r: %s", name, error)
    return found
