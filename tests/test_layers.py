"""The layers of the project: no package imports one above it, and no cycle of packages is left.

`make check` runs this. import-linter cannot follow the mapping of four top-level folders into one namespace.
"""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from support.paths import ROOT

LAYERS = (
    {"state"},
    {"tools.text", "tools.io"},
    {"tools.documents"},
    {"tools.prompts"},
    {"tools.models"},
    {"tools.scoring"},
    {"tools.students"},
    {"tools.retrieval"},
    {"tools.resources"},
    {"nodes"},
    {"graphs"},
    {"tools.apps.drawing", "tools.apps.variables"},
    {"tools.apps.runs"},
    {"tools.apps.server", "tools.apps.evaluation"},
    {"tools.apps.cli"},
    {"tools.apps.notebook"},
)
"""From the ground up; a package imports only itself and what lies below."""
FLOOR = {package: floor for floor, packages in enumerate(LAYERS) for package in packages}


parse = cache(ast.parse)


def modules() -> dict[str, str]:
    """Every module, by its dotted name below `hopgraph`, with its source."""
    files = (file for top in ("graphs", "nodes", "state", "tools") for file in (ROOT / top).rglob("*.py"))
    return {".".join(file.relative_to(ROOT).with_suffix("").parts): file.read_text(encoding="utf-8") for file in files}


def package_of(module: str) -> str | None:
    """The package of `LAYERS` that a module belongs to; None for one that only holds packages."""
    return next((package for package in FLOOR if f"{module}.".startswith(f"{package}.")), None)


def imports(source: str) -> Iterator[str]:
    """The names below `hopgraph` that a module imports, also within functions."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{each.name}" for each in node.names]
        else:
            continue
        yield from (name.removeprefix("hopgraph.") for name in names if name.startswith("hopgraph."))


def violations(sources: dict[str, str]) -> list[str]:
    found: list[str] = []
    for module, source in sources.items():
        own = package_of(module)
        for name in imports(source):
            imported = package_of(name)
            if own is None or imported is None:
                found.append(f"{module} imports {name}, and one of them belongs to no layer")
            elif imported != own and FLOOR[imported] >= FLOOR[own]:
                found.append(f"{module} imports {name}, which does not lie below {own}")
    return found


def test_no_package_imports_one_above_it() -> None:
    sources = {name: source for name, source in modules().items() if not name.endswith("__init__") or package_of(name)}
    assert violations(sources) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("tools.models.resolve", "from hopgraph.tools.apps.evaluation import datasets"),
        ("tools.models.resolve", "def late() -> None:\n    import hopgraph.tools.apps.cli"),
        ("nodes.retrieve", "from hopgraph.graphs import migres"),
        ("tools.apps.server.service", "from hopgraph.tools.apps.evaluation.metrics import F1"),
        ("state.records", "from hopgraph.tools import text"),
    ],
)
def test_an_import_from_above_is_found(module: str, line: str) -> None:
    assert len(violations({module: line})) == 1


def test_modules_of_the_product_import_each_other_without_a_cycle_of_folders() -> None:
    """Also below the packages of `LAYERS`: sibling folders form no cycle."""
    sources = modules()
    names = {name.removesuffix(".__init__") for name in sources}
    siblings: dict[str, dict[str, set[str]]] = {}
    for module, source in sources.items():
        for name in imports(source):
            target = name if name in names else name.rpartition(".")[0]
            mine, theirs = module.removesuffix(".__init__").split("."), target.split(".")
            shared = next((at for at, pair in enumerate(zip(mine, theirs, strict=False)) if pair[0] != pair[1]), None)
            if shared is None:
                continue
            parent = ".".join(mine[:shared])
            left, right = (".".join(parts[: shared + 1]) for parts in (mine, theirs))
            if all(f"{each}.__init__" in sources for each in (left, right)):
                siblings.setdefault(parent, {}).setdefault(left, set()).add(right)
    for edges in siblings.values():
        edges.pop("tools", None)  # what nodes call and what stands above them: told apart by LAYERS
        try:
            tuple(TopologicalSorter(edges).static_order())
        except CycleError as error:
            pytest.fail(f"a cycle of folders: {' -> '.join(error.args[1])}")


CONVENTIONS = {"Context", "build", "graph", "main"}
"""What each module of a method has, and what a program starts with."""


def public_names(source: str) -> Iterator[str]:
    """Yield what a module defines for others; type variables are not among it."""
    for node in parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and "TypeVar(" not in ast.unparse(node):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))


def test_no_two_public_names_differ_only_by_their_module() -> None:
    places: dict[str, set[str]] = {}
    for module, source in modules().items():
        for name in public_names(source):
            places.setdefault(name, set()).add(module)
    several = {name: found for name, found in places.items() if len(found) > 1 and not name.startswith("_")}
    assert several.keys() - CONVENTIONS == set(), several
