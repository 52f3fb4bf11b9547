"""How a command is written, as a dataclass with a field for each option or argument; and options of several."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Annotated, Any, TypeVar, cast

import typer

OptionsT = TypeVar("OptionsT")


def examples(*lines: str) -> str:
    """Write examples for the end of a help page, one to a paragraph, as it joins lines."""
    return "\n\n".join(["Examples:", *lines])


def option(default: Any, text: str, *names: str, **about: Any) -> Any:
    """Return a dataclass's field that is an option of a command; `text` is its help, `about` goes to `typer.Option`."""
    return field(default=default, metadata={"option": typer.Option(*names, help=text, **about)})


def takes(options: type[OptionsT], **defaults: Any) -> Callable[[Callable[[OptionsT], None]], Callable[..., None]]:
    """Return a decorator that lets typer read a command's parameters from a dataclass and pass them as one object.

    Each field is made by `option`, or annotated with a `typer.Option` or `typer.Argument`; `defaults` replace fields'
    defaults.
    """
    signature = inspect.signature(options)
    metadata = {each.name: each.metadata for each in fields(cast("Any", options))}
    parameters = [
        each.replace(
            default=defaults.get(name, each.default),
            annotation=Annotated[each.annotation, metadata[name]["option"]] if metadata[name] else each.annotation,
        )
        for name, each in signature.parameters.items()
    ]

    def decorate(run: Callable[[OptionsT], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            run(options(**given))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        command.__dict__["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
        return command

    return decorate


def command(group: typer.Typer, work: str, *lines: str, **about: Any) -> Callable[[type[OptionsT]], type[OptionsT]]:
    """Return a decorator that makes a class a command: its fields are the options, its docstring the help.

    Args:
        group: Where the command is added.
        work: What does it with the class's object, as `MODULE.run_NAME` in this folder, and so its name. It is
            imported when the command runs: `--help` answers at once, and a wrong option is reported before anything
            is loaded.
        lines: Examples of its use.
        about: More for `typer.Typer.command`.
    """
    module, _, name = work.rpartition(".run_")

    def decorate(options: type[OptionsT]) -> type[OptionsT]:
        made = dataclass(frozen=True, kw_only=True)(options)

        def run(given: OptionsT) -> None:
            getattr(import_module(f"{__package__}.{module}"), f"run_{name}")(given)

        run.__doc__ = options.__doc__
        group.command(name.replace("_", "-"), epilog=examples(*lines), **about)(takes(made)(run))
        return made

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
