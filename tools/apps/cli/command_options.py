"""The options of `ask`, `index` and `chat`: each field of a dataclass is an option or an argument of its command."""

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

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
    signature, metadata = (
        inspect.signature(options),
        {each.name: each.metadata for each in fields(cast("Any", options))},
    )
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


ReviewChoice = Literal["queries", "evidence", "all"]
"""What `ask --review` asks about."""
PictureFormat = Literal["mermaid", "ascii", "svg", "png"]

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
ChatSetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the chat, for all methods.")
]
METHOD_HELP = "A name of `hopgraph methods`, or the place of your own: FILE.py, FILE.py:GRAPH or MODULE:GRAPH."
OwnMethodsOption = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="FILE.py|MODULE:GRAPH", help="Offer a method of your own, too; repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show every model call, and texts in full.")]


@dataclass(frozen=True)
class AskOptions:
    """What `hopgraph ask` takes."""

    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question; - reads standard input.")]
    _: KW_ONLY
    method: str = option("migres", METHOD_HELP, metavar="NAME|FILE.py")
    model: ModelOption = None
    corpus: CorpusOption = None
    preset: str | None = option(None, "The paper's settings for a family of data sets.", metavar="FAMILY")
    assignments: list[str] | None = option(
        None, "A setting of the method; `hopgraph methods NAME` lists them.", "--set", metavar="KEY=VALUE"
    )
    as_json: JsonOption = False
    verbose: VerboseOption = False
    quiet: bool = option(False, "Show only the answer and its sources.", "--quiet", "-q")
    save: Path | None = option(
        None, "Write the run to a file, as --json prints it, for `hopgraph draw`.", metavar="RUN.json"
    )
    review: ReviewChoice | None = option(
        None,
        "Pause for you to approve, edit or reject the queries or the evidence; without a value: all.",
        metavar="[queries|evidence|all]",
    )


@dataclass(frozen=True)
class IndexOptions:
    """What `hopgraph index` takes."""

    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A file or a folder with passages.")]
    _: KW_ONLY
    out: Path | None = option(
        None,
        "The index's folder. An index in it that was made from SOURCE is brought up to date: only files whose "
        "content has changed are read, and passages of files that are gone are removed.",
        metavar="DIR",
    )
    to: str | None = option(
        None,
        "Instead of a folder, a search engine's collection to stream into: milvus:FILE.db#COLLECTION, "
        "milvus:http://HOST:19530#COLLECTION or elasticsearch:http://HOST:9200#INDEX.",
        metavar="SPEC",
    )
    format_name: str | None = option(
        None,
        "beir, hotpotqa, 2wikimultihopqa, musique, nq, dpr, or text (documents).",
        "--format",
        metavar="NAME",
        show_default="detected from the content",
    )
    skip_bad: bool = option(False, "Skip broken records and count them.", "--skip-bad")
    follow_links: bool = option(False, "Follow links in a folder of documents.", "--follow-links")
    language: str | None = option(
        None,
        "The passages' language, as de, fr, zh, ja or ko: its stop words and stems, or character bigrams "
        "where no spaces are written (zh-words, ja-words, th-words: words, with the extra `languages`).",
        metavar="CODE",
        show_default="en",
    )
    passage_words: int | None = option(
        None,
        "About how many words of a document a passage has.",
        metavar="N",
        show_default="100; of an index that is updated, its own",
    )
    overlap: int | None = option(
        None, "Up to how many words of one passage the next one begins with.", metavar="N", show_default="0"
    )
    dense: str | None = option(
        None,
        "Add vectors, to search as faiss:DIR or hybrid:DIR: st:NAME_OR_PATH (sentence-transformers), "
        "contriever:…, flag:… (BGE), or openai:NAME?base_url=URL (needs the extra `models`).",
        metavar="MODEL",
    )
    faiss: str | None = option(
        None,
        "The kind of FAISS index.",
        metavar="KIND",
        show_default="flat up to 100,000 passages, hnsw up to 2,000,000, else ivfpq",
    )
    add: bool = option(False, "Add SOURCE to an index in DIR that was made from others.", "--add")
    replace: bool = option(False, "Build the index in DIR anew, from SOURCE alone.", "--replace")
    keep_missing: bool = option(False, "Keep the passages of files that are gone from SOURCE.", "--keep-missing")
    dry_run: bool = option(False, "Say which files would be read or removed; no more.", "--dry-run")
    colbert: str | None = option(
        None,
        "Add a late-interaction model's vectors, to search as colbert:DIR; as colbert-ir/colbertv2.0 or a "
        "folder, with ?device=cuda and the like (needs the extra `colbert`).",
        metavar="MODEL",
    )


@dataclass(frozen=True, kw_only=True)
class ChatOptions:
    """What `hopgraph chat` takes."""

    corpus: CorpusOption = None
    model: ModelOption = None
    method: str | None = option(
        None,
        "The method that the page starts with and that auto stands for; auto itself chooses by the question.",
        metavar="NAME|FILE.py",
        show_default="HOPGRAPH_USE_METHOD, else auto",
    )
    assignments: ChatSetOption = None
    host: str = option(
        "127.0.0.1",
        "The address to listen on. If it is not this machine's own, callers need a key: set "
        "HOPGRAPH_API_KEY, to one key or to USER=KEY,USER=KEY. HOPGRAPH_CALLS_PER_DAY (20,000), "
        "HOPGRAPH_STREAMS_PER_ADDRESS (64) and others of SECURITY.md limit them; HOPGRAPH_PROXIES names proxies.",
    )
    port: int = option(7860, "The port; 0 takes a free one.", min=0, max=65535)
    threads: str | None = option(
        None,
        "Where conversations are kept: a file, or postgresql://USER@HOST/DATABASE.",
        metavar="FILE|ADDRESS",
        show_default="a file in your data folder",
    )
    origins: list[str] | None = option(
        None, "A page of another origin that may call the endpoints.", "--allow-origin", metavar="URL"
    )
    hosts: list[str] | None = option(
        None, "A host name under which a proxy forwards requests.", "--allow-host", metavar="NAME"
    )
    title: str = option("hopgraph", "What the page is called.")
    logo: Path | None = option(None, "An image before the title: SVG, PNG, JPEG or WebP.", metavar="FILE")
    page_examples: list[str] | None = option(None, "A question that the page offers.", "--example", metavar="QUESTION")
    browser: bool = option(True, "Open the page in the browser.", "--browser/--no-browser")
