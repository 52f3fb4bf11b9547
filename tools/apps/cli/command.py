"""Commands whose options are the fields of a dataclass, so that each option is written once; and their examples."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

OptionsT = TypeVar("OptionsT")


def examples(*lines: str) -> str:
    """Write examples for the end of a help page, one to a paragraph, as it joins lines."""
    return "\n\n".join(["Examples:", *lines])


def takes(options: type[OptionsT], **defaults: Any) -> Callable[[Callable[[OptionsT], None]], Callable[..., None]]:
    """Return a decorator that lets typer read a command's parameters from a dataclass and pass them as one object.

    Each field is annotated with its `typer.Option` or `typer.Argument`; `defaults` replace fields' defaults.
    """
    signature = inspect.signature(options)
    parameters = [each.replace(default=defaults.get(name, each.default)) for name, each in signature.parameters.items()]

    def decorate(run: Callable[[OptionsT], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            run(options(**given))

        command.__name__, command.__doc__ = run.__name__, run.__doc__
        command.__dict__["__signature__"] = signature.replace(parameters=parameters, return_annotation=None)
        return command

    return decorate
