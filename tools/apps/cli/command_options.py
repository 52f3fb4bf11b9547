"""How a command is written, as a dataclass with a field for each option or argument; and options of several."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from importlib import import_module
from typing import Annotated, Any, TypeVar, cast

import typer

OptionsT = TypeVar("OptionsT")

SOME_FAILED = 3
"""Exit code of a run that is finished with failed questions."""


def option(default: Any, text: str, *names: str, **about: Any) -> Any:
    """Return a dataclass's field that is an option of a command; `text` is its help, `about` goes to `typer.Option`."""
    return field(default=default, metadata={"option": typer.Option(*names, help=text, **about)})


def command(
    group: typer.Typer, work: str, *examples: str, defaults: Mapping[str, Any] | None = None, **about: Any
) -> Callable[[type[OptionsT]], type[OptionsT]]:
    """Return a decorator that makes a dataclass a command: its fields are the options, its docstring the help.

    Each field is made by `option`, or annotated with a `typer.Option` or `typer.Argument`.

    Args:
        group: Where the command is added.
        work: What does it with the class's object, as `MODULE.run_NAME` in this folder, and so its name. It is
            imported when the command runs: `--help` answers at once, and a wrong option is reported before anything
            is loaded. It returns whether questions failed, or nothing.
        examples: Of its use, for the end of the help page.
        defaults: In place of fields' defaults.
        about: More for `typer.Typer.command`.
    """
    module, _, name = work.rpartition(".run_")

    def decorate(options: type[OptionsT]) -> type[OptionsT]:
        metadata = {each.name: each.metadata for each in fields(cast("Any", options))}
        signature = inspect.signature(options)
        parameters = [
            each.replace(
                default=(defaults or {}).get(key, each.default),
                annotation=Annotated[each.annotation, *metadata[key].values()] if metadata[key] else each.annotation,
            )
            for key, each in signature.parameters.items()
        ]

        def run(**given: Any) -> None:
            if getattr(import_module(f"{__package__}.{module}"), f"run_{name}")(options(**given)):
                raise typer.Exit(SOME_FAILED)

        run.__doc__ = options.__doc__
        run.__dict__["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
        # A help page joins lines, but not paragraphs.
        epilog = "\n\n".join(["Examples:", *examples])
        group.command(name.replace("_", "-"), epilog=epilog, **about)(run)
        return options

    return decorate


ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        show_default="HOPGRAPH_MODEL, else offline:extractive",
        help="openai:NAME, openai:NAME?base_url=URL, gguf:FILE, PROVIDER:NAME, or offline:extractive, which is "
        "a set of extractive rules, not a language model.",
    ),
]
CorpusOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|SPEC",
        show_default="HOPGRAPH_RETRIEVER, else sample",
        help="A folder made by `hopgraph index`, or a retriever's spec.",
    ),
]
METHOD_HELP = "A name of `hopgraph methods`, or the place of your own: FILE.py, FILE.py:GRAPH or MODULE:GRAPH."
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show every model call, and texts in full.")]
