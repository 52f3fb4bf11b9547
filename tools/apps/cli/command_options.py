"""Commands as dataclasses, with a field for each option or argument; and options that several commands share."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Annotated, Any, TypeVar, cast

import typer
from typing_extensions import dataclass_transform

OptionsT = TypeVar("OptionsT")

SOME_FAILED, LIMIT_REACHED, MOST_UNUSABLE = 3, 4, 5
"""Exit codes of a finished run: questions failed, --max-calls or --max-cost was reached, or most replies were unusable.
If several apply, the first."""

commands = typer.Typer()
"""Every command, in the order in which their modules are imported."""


def option(text: str, *names: str, default: Any = None, **about: Any) -> Any:
    """Return a dataclass field for an option; `text` is its help, `about` goes to `typer.Option`."""
    return field(default=default, metadata={"names": names, "about": {"help": text, **about}})


def flag(text: str, *names: str) -> Any:
    """Return a dataclass field for a flag, off by default."""
    return option(text, *names, default=False)


@dataclass_transform(frozen_default=True)
def command(
    work: str, *examples: str, defaults: Mapping[str, Any] | None = None, **about: Any
) -> Callable[[type[OptionsT]], type[OptionsT]]:
    """Return a decorator that turns a class into a frozen dataclass and a command, with its docstring as the help.

    Each field is made by `option` or `flag`, or annotated with a `typer.Option` or `typer.Argument`.

    Args:
        work: `MODULE.run_NAME` in this package, which runs the command NAME. It is imported only then, so that `--help`
            and wrong options are answered at once. It returns an exit code or None.
        examples: Shown at the end of the help.
        defaults: Override fields' defaults.
        about: Passed to `typer.Typer.command`.
    """
    module, _, work_name = work.rpartition(".run_")

    def decorate(cls: type[OptionsT]) -> type[OptionsT]:
        options = dataclass(frozen=True)(cls)
        metadata = {each.name: each.metadata for each in fields(cast("Any", options))}
        signature, parameters = inspect.signature(options), list[inspect.Parameter]()
        for name, each in signature.parameters.items():
            default, annotation = (defaults or {}).get(name, each.default), each.annotation
            if about_option := metadata[name]:
                names = about_option["names"] or (f"--{name.replace('_', '-')}",)
                annotation = Annotated[annotation, typer.Option(*names, **about_option["about"])]
            parameters.append(each.replace(default=default, annotation=annotation))

        def run(**given: Any) -> None:
            if code := getattr(import_module(f"{__package__}.{module}"), f"run_{work_name}")(options(**given)):
                raise typer.Exit(code)

        run.__doc__ = options.__doc__
        run.__dict__["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
        epilog = "\n".join(["\b", "Examples:", *examples])  # \b: lines are not joined
        commands.command(work_name.replace("_", "-"), epilog=epilog, **about)(run)
        return options

    return decorate


ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        show_default="HOPGRAPH_MODEL, else offline:extractive",
        help="openai:NAME, openai:NAME?base_url=URL, gguf:FILE, PROVIDER:NAME, or offline:extractive (rules, not a "
        "language model).",
    ),
]
CorpusOption = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|SPEC",
        show_default="HOPGRAPH_RETRIEVER, else sample",
        help="A folder made by `hopgraph index`, or a retriever's spec, e.g. hybrid:DIR or web:wikipedia.",
    ),
]
METHOD_HELP = "A name from `hopgraph methods`, or your method: FILE.py, FILE.py:GRAPH or MODULE:GRAPH."
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show every model call, and texts in full.")]
