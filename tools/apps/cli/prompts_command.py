"""`hopgraph prompts`: copy a method's prompt files for editing."""

import shlex
from pathlib import Path

from rich.text import Text

from hopgraph.state import Context, SettingsError
from hopgraph.tools.apps.cli.console import console_on, print_hanging, print_line
from hopgraph.tools.apps.cli.settings_options import method_named
from hopgraph.tools.io.atomic_files import write_files
from hopgraph.tools.prompts import FAMILIES, list_prompt_files


def run_prompts(method: str, out: Path, *, force: bool) -> None:
    """Copy the prompt files of a method and print how to use them; files that are there need `force`."""
    cls: type[Context] = method_named(method).Context
    out = out.expanduser()
    files = dict(list_prompt_files(cls.method, cls.steps))
    contents = {out / name: path.read_bytes() for name, path in files.items()}
    there = [path for path in contents if path.exists()]
    if there and not force:
        raise SettingsError(f"{there[0]} exists already; choose another folder, or --force to replace it")
    write_files(contents)
    console = console_on()
    print_line(console, f"{len(contents)} files written to {out}. Edit them, then:")
    use = f'hopgraph ask "…" --method {cls.method} --set prompts_dir={shlex.quote(str(out))}'
    print_hanging(console, Text(), Text(use, "cyan"), indent=2)
    if families := [family for family in FAMILIES if any(name.endswith(f".{family}.jsonl") for name in files)]:
        note = "The .jsonl files are demonstrations, used if a family of them is asked for, too: "
        choice = " or ".join(f"--set demonstrations={family}" for family in families)
        print_line(console, f"{note}{choice}.", "dim")
