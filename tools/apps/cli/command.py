"""What all commands share: errors on one line each, and examples at the end of their help."""

from typing import Any

from typer.core import TyperCommand
from typing_extensions import override

from hopgraph.tools.apps.cli.exit_codes import reported


class Command(TyperCommand):
    """A command whose errors are one line each."""

    @override
    def invoke(self, ctx: Any) -> Any:
        with reported():
            return super().invoke(ctx)


def examples(*lines: str) -> str:
    """Write examples for the end of a help page, one to a paragraph, as it joins lines."""
    return "\n\n".join(["Examples:", *lines])
