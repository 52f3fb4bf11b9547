"""`hopgraph build`: answer training questions, and write what a method takes from them."""

from pathlib import Path

from rich.text import Text

from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.console import console_on
from hopgraph.tools.apps.cli.evaluation.eval_command import run_eval
from hopgraph.tools.apps.cli.evaluation.evaluation_options import BuildOptions, eval_options
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.training_files import TRAINING_FILES


def run_folder(given: Path) -> tuple[Path, Path]:
    """Return what is to be written, and the folder of the run beside it; SettingsError where it is another's."""
    out = given.expanduser()
    run = out.with_name(f"{out.name}.run")
    if out.exists() and not run.exists():
        raise SettingsError(f"--out {out}: it exists, and was not made by this command; choose another name")
    return out, run


def run_build(options: BuildOptions) -> bool:
    """Run or resume the evaluation, write the file of what it has finished, and return whether any question failed."""
    (methods, write), (out, run) = TRAINING_FILES[options.method], run_folder(options.out)
    failed = run_eval(eval_options(options, methods=methods, out=run, processes=None))
    if not options.estimate_only:
        console_on().print(Text(write(RunReader(run), out)), soft_wrap=True)
    return failed
