"""Additions of the site to the pages of this folder: the repository's own, the settings, and llms.txt."""

import re
from collections.abc import Container, Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation

from hopgraph.graphs import ALIASES, METHODS, chat
from hopgraph.state import Context
from hopgraph.state.context import PROMPT

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r'(\]\(|src=")(?!https?:)([^)"#\s]+)')


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the top pages, the page of settings, and the files of the repository that pages link to."""
    files.append(File.generated(config, "settings.md", content="\n".join(settings_page())))
    pages = [*(ROOT / name for name in TOP_PAGES), *DOCS.glob("*.md")]
    linked = {(page.parent / target).resolve() for page in pages for _, target in LINK.findall(page.read_text("utf-8"))}
    for path in sorted({*pages[: len(TOP_PAGES)], *(path for path in linked if path.is_file())}):
        if DOCS not in path.parents:
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page with links as they are on the site, where the pages of docs/ are beside the top-level ones."""
    return re.sub(r'(\]\(|src=")(?:\.\./|docs/)', r"\1", markdown)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Add llms.txt: each page's title, address and first sentence."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", "", "## Pages", ""]
    for page in nav.pages:
        text = re.sub(r"^#.*$|<.*?>", "", page.file.content_string, flags=re.MULTILINE).strip()
        paragraph = re.sub(r"\[(.*?)\]\(.*?\)|\*\*", r"\1", text.split("\n\n")[0]).replace("\n", " ")
        about = re.split(r"(?<=\.)\s|:$", paragraph)[0]
        lines.append(f"- [{page.title}]({page.url or './'}): {about}")
    files.append(File.generated(config, "llms.txt", content="\n".join(lines)))
    return nav


def settings_page() -> Iterator[str]:
    """Yield the lines of the page of settings: those of all methods, then those of each method."""
    yield "# Settings\n"
    yield "Every setting of every method: set it with `Context(name=value)`, `--set name=value` or the environment"
    yield f"variable `HOPGRAPH_NAME`. Each step also has `{PROMPT}STEP`: text that replaces its prompt file."
    yield from settings_table("Every method", Context, ())
    methods = {name: module.Context for name, module in METHODS.items() if name not in ALIASES}
    for name, cls in {**methods, "chat": chat.Context}.items():
        yield from settings_table(f"`{name}`", cls, Context.model_fields)
    yield "\nNext: [which method?](which_method.md)"


def settings_table(title: str, cls: type[Context], known: Container[str]) -> Iterator[str]:
    """Yield a method's settings as a table, or nothing if all of them are known."""
    fields = cls.model_fields.items()
    own = {name: field for name, field in fields if name not in known and not name.startswith(PROMPT)}
    if not own:
        return
    yield f"\n## {title}\n\n| setting | default | |\n|---|---|---|"
    for name, field in own.items():
        default = field.get_default(call_default_factory=True)
        about = (field.description or "").replace("|", "\\|").replace("<", "&lt;")
        yield f"| `{name}` | `{'none' if default is None else default}` | {about} |"
