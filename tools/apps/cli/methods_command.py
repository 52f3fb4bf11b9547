"""`hopgraph methods`: list methods or a method's settings; `prompts`: copy its prompts; `draw`: its graph, or a run."""

import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any, cast

from rich.console import Console
from rich.text import Text

from hopgraph.graphs import ALIASES, GROUPS, METHODS, chat, find_method, list_methods
from hopgraph.graphs.registry import find_paper
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.state import Context, SettingsError
from hopgraph.state.context import own_prompt_folders
from hopgraph.tools.apps.cli.commands import DrawOptions, MethodsOptions, PromptsOptions
from hopgraph.tools.apps.cli.console import console_on, print_hanging, print_json, print_line
from hopgraph.tools.apps.drawing import render_png
from hopgraph.tools.apps.runs.answer_record import read_run
from hopgraph.tools.apps.runs.run_svg import draw_run_svg
from hopgraph.tools.apps.runs.tree_builder import build_tree
from hopgraph.tools.apps.runs.tree_text import draw_run_text
from hopgraph.tools.io.guarded_files import write_files
from hopgraph.tools.prompts import FAMILIES, list_prompt_files
from hopgraph.tools.text.sanitize import sanitize_line

_NAMES = 18  # width of the column of names


def run_methods(options: MethodsOptions) -> None:
    """Print all methods by group, or one with its settings; `chat` is included only by name."""
    name = options.name
    if name == "chat":
        records = [_record("chat", chat.graph, chat.__doc__ or "", "", settings=True)]
    else:
        methods = [find_method(name)] if name else list_methods().values()
        records = [_record(each.name, each.graph, each.docstring, each.group, settings=bool(name)) for each in methods]
    if options.as_json:
        print_json(records[0] if name else records)
        return
    console = console_on()
    if name:
        _print_method(console, records[0])
        if roles := records[0]["roles"]:
            console.print("\nRoles", style="bold")
            print_hanging(console, Text(), Text(", ".join(roles)), indent=2)
        _print_settings(console, records[0]["settings"])
        return
    for group, heading in GROUPS.items():
        found = [record for record in records if record["group"] == group]
        if found:
            above = "\n" * (found[0] is not records[0])
            console.print(Text.assemble(above, (heading, "bold"), (f"  --methods {group}", "dim")))
        for record in found:
            _print_method(console, record)
    console.print("\nA method's settings: hopgraph methods NAME; the chat's: hopgraph methods chat", style="dim")


def _record(name: str, graph: CompiledMethod, about: str, group: str, *, settings: bool) -> dict[str, Any]:
    cls = cast("type[Context]", graph.context_schema)
    first_line = about.partition("\n")[0]
    record: dict[str, Any] = {
        "name": name,
        "title": str(graph.get_name()),
        "group": group,
        "aliases": [short for short, full in ALIASES.items() if full == name],
        "about": first_line.partition(": ")[2].strip() or first_line,
        "paper": find_paper(about),
        "presets": cls.presets,
        "roles": [f"{name}/{step}" for step in cls.steps],
    }
    return {**record, "settings": _settings(cls)} if settings else record


def _settings(cls: type[Context]) -> list[dict[str, Any]]:
    """List a method's settings with default, bounds, group and description, in the order of the fields."""
    schema = cast("dict[str, dict[str, Any]]", cls.model_json_schema()["properties"])
    return [
        {
            "name": name,
            "default": cls.model_fields[name].get_default(call_default_factory=True),
            "takes": " or ".join(dict.fromkeys(map(_kind, field.get("anyOf") or [field]))),
            "group": field.get("group", ""),
            "description": field.get("description", ""),
        }
        for name, field in schema.items()
        if name not in cls.unused_settings
    ]


def _kind(kind: Mapping[str, Any]) -> str:
    """Describe the values that part of a field's schema accepts, e.g. `1 to 20`, `number above 0`, `sentences|none`."""
    if "enum" in kind:
        return "|".join(map(str, kind["enum"]))
    words = {"null": "none", "string": "text", "boolean": "true|false", "object": "JSON object", "array": "JSON list"}
    words |= {"integer": "whole number"}
    noun = words.get(str(kind.get("type", "string")), "number")
    low, above, high = (kind.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
    if low is not None:
        return f"{noun} {low:g} to {high:g}" if high is not None else f"{noun} from {low:g}"
    return f"{noun} above {above:g}" if above is not None else noun


def _print_method(console: Console, record: Mapping[str, Any]) -> None:
    short = f" ({', '.join(record['aliases'])})" if record["aliases"] else ""
    about = Text.assemble((record["title"], "bold"), f"{short}: {record['about']}")
    print_hanging(console, Text(record["name"], "bold cyan"), about, indent=_NAMES)
    if paper := record["paper"]:
        cited = Text(f"{paper['title']} ({paper['authors']}), {paper['url']}", "dim")
        print_hanging(console, Text(), cited, indent=_NAMES)
    for family, values in record["presets"].items():
        shown = ", ".join(f"{key}={value}" for key, value in values.items())
        preset = Text.assemble(f"--preset {family}", (f"  {shown}", "dim"))
        print_hanging(console, Text(), preset, indent=_NAMES)


def _print_settings(console: Console, settings: list[dict[str, Any]]) -> None:
    groups = dict.fromkeys(setting["group"] for setting in settings)
    for group in sorted(groups, key=lambda group: group != "Method"):
        console.print(f"\n{group}", style="bold")
        for setting in (each for each in settings if each["group"] == group):
            default = setting["default"]
            shown = "none" if default is None else json.dumps(default).strip('"')
            facts = Text.assemble((f"= {shown}", "green"), (f"  ({setting['takes']})", "dim"))
            print_hanging(console, Text(f"  {setting['name']}", "cyan"), facts, indent=26)
            print_hanging(console, Text(), Text(setting["description"]), indent=26)


def run_prompts(options: PromptsOptions) -> None:
    """Copy the prompt files of a method and print how to use them; `force` overwrites files."""
    method, out = options.method, options.out.expanduser()
    cls = find_method(method).Context
    if not cls.steps:
        raise SettingsError(f"{method} has no prompts to copy: its graph does not use prompt files")
    files = dict(list_prompt_files(cls.method, cls.all_steps(), own_prompt_folders(cls)))
    contents = {out / name: path.read_bytes() for name, path in files.items()}
    there = [path for path in contents if path.exists()]
    if there and not options.force:
        raise SettingsError(f"{there[0]} already exists; choose another folder, or use --force to overwrite it")
    write_files(contents)
    console = console_on()
    print_line(console, f"{len(contents)} files written to {out}. Edit them, then:")
    use = f'hopgraph ask "…" --method {shlex.quote(method)} --set prompts_dir={shlex.quote(str(out))}'
    print_hanging(console, Text(), Text(use, "cyan"), indent=2)
    if families := [family for family in FAMILIES if any(name.endswith(f".{family}.jsonl") for name in files)]:
        note = "The .jsonl files are demonstrations, used only with "
        choice = " or ".join(f"--set demonstrations={family}" for family in families)
        print_line(console, f"{note}{choice}.", "dim")


def run_draw(options: DrawOptions) -> None:
    """Draw a method's graph or a run to a file or standard output."""
    method, run, out, form = options.method, options.run, options.out, options.format_name
    if (method is None) == (run is None):
        raise SettingsError("name a METHOD to draw its graph, or use --run RUN.json to draw a run, not both")
    if form == "png" and out is None and sys.stdout.isatty():
        raise SettingsError("a terminal cannot show a PNG; write it to a file with --out FILE")
    if form is not None and (form == "mermaid") != (run is None):
        raise SettingsError("a method's graph is drawn as mermaid; a run is drawn as ascii, svg or png")
    if run is not None:
        saved = read_run(run.expanduser())
        known, tree = METHODS.get(saved["method"]), build_tree(saved["question"], saved["trace"])
        title = str(known.graph.get_name()) if known else sanitize_line(saved["method"])
        text = draw_run_svg(tree, title) if form in ("svg", "png") else f"{draw_run_text(tree, title)}\n"
    else:
        text = f"{find_method(method or '').drawn_graph.get_graph().draw_mermaid().rstrip()}\n"
    picture = render_png(text) if form == "png" else text.encode("utf-8", "replace")
    if out is not None:
        write_files({out.expanduser(): picture})
    elif form == "png":
        sys.stdout.buffer.write(picture)
    else:
        sys.stdout.write(picture.decode("utf-8"))
