"""Put the pages of the site together in `build/docs`: the repository's own, what they link to, and the settings."""

import re
import shutil
from collections.abc import Container, Iterator
from pathlib import Path

from hopgraph.graphs import ALIASES, METHODS, chat
from hopgraph.state import Context
from hopgraph.state.context import PROMPT

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "docs"
PAGES = ("*.md", "docs/*.md", "docs/*.css", "graphs/*.md", "tools/**/*.md", "notebooks/*.md", "examples/*/README.md")


def main() -> None:
    """Copy the pages and the files that they link to, in the same folders, and write the page of settings."""
    shutil.rmtree(OUT, ignore_errors=True)
    for page in sorted({page for pattern in PAGES for page in ROOT.glob(pattern)}):
        for each in (page, *linked_files(page)):
            copy = OUT / each.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(each, copy)
    (OUT / "docs" / "settings.md").write_text("\n".join(settings_page()), encoding="utf-8")


def linked_files(page: Path) -> Iterator[Path]:
    """Yield the files of the repository that a page links to or shows."""
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r'\]\(([^)#\s]+)[^)]*\)|src="([^"]+)"', text):
        path = (page.parent / (target[0] or target[1])).resolve()
        if "://" not in "".join(target) and path.is_file():
            yield path


def settings_page() -> Iterator[str]:
    """Yield the lines of the page of settings: what all methods have, then what each has besides that."""
    yield "# Settings"
    yield "Set by `Context(name=value)` or `--set name=value`, else by the environment variable `HOPGRAPH_NAME`."
    yield f"Each step of a method has one more, `{PROMPT}STEP`: its prompt, in place of the file's."
    yield from settings_table("Every method", Context, ())
    methods = {name: module.Context for name, module in METHODS.items() if name not in ALIASES}
    for name, cls in {**methods, "chat": chat.Context}.items():
        yield from settings_table(f"`{name}`", cls, Context.model_fields)


def settings_table(title: str, cls: type[Context], known: Container[str]) -> Iterator[str]:
    """Yield a method's settings as a table; nothing where it has none of its own."""
    fields = cls.model_fields.items()
    own = {name: field for name, field in fields if name not in known and not name.startswith(PROMPT)}
    if not own:
        return
    yield f"\n## {title}\n\n| setting | default | |\n|---|---|---|"
    for name, field in own.items():
        default = field.get_default(call_default_factory=True)
        about = (field.description or "").replace("|", "\\|").replace("<", "&lt;")
        yield f"| `{name}` | `{'none' if default is None else default}` | {about} |"


main()
