"""The program `hopgraph`: its commands, and how it exits."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typing_extensions import override

from hopgraph.tools.apps.cli import INTERRUPTED
from hopgraph.tools.apps.cli.command_options import commands

WRONG_USE, FAILED = 2, 1
"""Exit codes: a wrong option, setting, spec or question; a failure of a corpus, model, prompt file or disk."""


class _Program(TyperGroup):
    """The commands; typer alone would exit silently on Ctrl-C."""

    @override
    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            resumes = ctx.invoked_subcommand in ("build", "eval", "reproduce", "train")
            kept = "; finished work is kept; run the same command to resume" if resumes else ""
            _say(f"interrupted{kept}")
            raise typer.Exit(INTERRUPTED) from None
        except typer.BadParameter as error:  # for options that exclude each other
            error.ctx = error.ctx or ctx
            raise


app = typer.Typer(
    cls=_Program,
    epilog='\b\nExample:\nhopgraph ask "In what year did the sculptor of the Statue of Liberty die?"',
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


@app.callback(invoke_without_command=True)
def begin(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Answer multi-hop questions with published methods, and see every step."""
    if show_version:
        typer.echo(f"hopgraph {version('hopgraph')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for module in ("commands", "evaluation.evaluation_options"):
    import_module(f"{__package__}.{module}")
app.add_typer(commands)


def run_app(arguments: Sequence[str] | None) -> int:
    """Run a command, with these arguments or the process's; see `hopgraph.tools.apps.cli.main`."""
    try:
        for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character shows `?`
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="replace")
        given = sys.argv[1:] if arguments is None else list(arguments)
        if any(name.startswith("HOPGRAPH_") for name in os.environ) and not {"--help", "-h", "--version"} & {*given}:
            from hopgraph.tools.apps.variables import refuse_misspelt_variables

            refuse_misspelt_variables()
        code = app(args=given, prog_name="hopgraph", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:  # an option or an argument that is wrong
        context: Any = getattr(error, "ctx", None)
        words = (context.command_path, context.invoked_subcommand) if context else ("hopgraph",)
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        _say(f"{message}; see {' '.join(filter(None, words))} --help")
        return error.exit_code
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # the reader of the output, such as `head`, has exited
            place = f"{error.filename}: " if error.filename else ""
            _say(f"{place}{error.strerror or error}")
        _discard_output()
        return FAILED
    except KeyboardInterrupt:  # before or after a command
        _say("interrupted")
        return INTERRUPTED
    except Exception as error:
        from hopgraph.state.errors import HopgraphError, SettingsError  # only now, since it is slow

        if not isinstance(error, HopgraphError):
            raise
        _say(str(error))
        return WRONG_USE if isinstance(error, SettingsError) else FAILED


def _say(message: str) -> None:
    """Write one line to standard error, whatever the message contains."""
    from hopgraph.tools.text.sanitize import sanitize_line

    sys.stderr.write(f"hopgraph: {sanitize_line(message)}\n")


def _discard_output() -> None:
    """Discard what standard output cannot take, since Python would complain again at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
