"""The options of `ask`, `index` and `chat`: each field of a dataclass is an option or an argument of its command."""

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

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
    method: Annotated[str, typer.Option(metavar="NAME|FILE.py", help=METHOD_HELP)] = "migres"
    model: ModelOption = None
    corpus: CorpusOption = None
    preset: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="The paper's settings for a family of data sets.")
    ] = None
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method; `hopgraph methods NAME` lists them."),
    ] = None
    as_json: JsonOption = False
    verbose: VerboseOption = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only the answer and its sources.")] = False
    save: Annotated[
        Path | None,
        typer.Option(metavar="RUN.json", help="Write the run to a file, as --json prints it, for `hopgraph draw`."),
    ] = None
    review: Annotated[
        ReviewChoice | None,
        typer.Option(
            metavar="[queries|evidence|all]",
            help="Pause for you to approve, edit or reject the queries or the evidence; without a value: all.",
        ),
    ] = None


@dataclass(frozen=True)
class IndexOptions:
    """What `hopgraph index` takes."""

    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A file or a folder with passages.")]
    _: KW_ONLY
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The index's folder. An index in it that was made from SOURCE is brought up to date: only files whose "
            "content has changed are read, and passages of files that are gone are removed.",
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Instead of a folder, a search engine's collection to stream into: milvus:FILE.db#COLLECTION, "
            "milvus:http://HOST:19530#COLLECTION or elasticsearch:http://HOST:9200#INDEX.",
        ),
    ] = None
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            show_default="detected from the content",
            help="beir, hotpotqa, 2wikimultihopqa, musique, nq, dpr, or text (documents).",
        ),
    ] = None
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Skip broken records and count them.")] = False
    follow_links: Annotated[bool, typer.Option("--follow-links", help="Follow links in a folder of documents.")] = False
    language: Annotated[
        str | None,
        typer.Option(
            metavar="CODE",
            show_default="en",
            help="The passages' language, as de, fr, zh, ja or ko: its stop words and stems, or character bigrams "
            "where no spaces are written (zh-words, ja-words, th-words: words, with the extra `languages`).",
        ),
    ] = None
    passage_words: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            show_default="100; of an index that is updated, its own",
            help="About how many words of a document a passage has.",
        ),
    ] = None
    overlap: Annotated[
        int | None,
        typer.Option(
            metavar="N", show_default="0", help="Up to how many words of one passage the next one begins with."
        ),
    ] = None
    dense: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Add vectors, to search as faiss:DIR or hybrid:DIR: st:NAME_OR_PATH (sentence-transformers), "
            "contriever:…, flag:… (BGE), or openai:NAME?base_url=URL (needs the extra `models`).",
        ),
    ] = None
    faiss: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            show_default="flat up to 100,000 passages, hnsw up to 2,000,000, else ivfpq",
            help="The kind of FAISS index.",
        ),
    ] = None
    add: Annotated[bool, typer.Option("--add", help="Add SOURCE to an index in DIR that was made from others.")] = False
    replace: Annotated[bool, typer.Option("--replace", help="Build the index in DIR anew, from SOURCE alone.")] = False
    keep_missing: Annotated[
        bool, typer.Option("--keep-missing", help="Keep the passages of files that are gone from SOURCE.")
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say which files would be read or removed; no more.")] = (
        False
    )
    colbert: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Add a late-interaction model's vectors, to search as colbert:DIR; as colbert-ir/colbertv2.0 or a "
            "folder, with ?device=cuda and the like (needs the extra `colbert`).",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ChatOptions:
    """What `hopgraph chat` takes."""

    corpus: CorpusOption = None
    model: ModelOption = None
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE.py",
            show_default="HOPGRAPH_USE_METHOD, else auto",
            help="The method that the page starts with and that auto stands for; auto itself chooses by the question.",
        ),
    ] = None
    assignments: ChatSetOption = None
    host: Annotated[
        str,
        typer.Option(
            help="The address to listen on. If it is not this machine's own, callers need a key: set "
            "HOPGRAPH_API_KEY, to one key or to USER=KEY,USER=KEY. HOPGRAPH_CALLS_PER_DAY (20,000), "
            "HOPGRAPH_STREAMS_PER_ADDRESS (64) and others of SECURITY.md limit them; HOPGRAPH_PROXIES names proxies."
        ),
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 7860
    threads: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|ADDRESS",
            show_default="a file in your data folder",
            help="Where conversations are kept: a file, or postgresql://USER@HOST/DATABASE.",
        ),
    ] = None
    origins: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", metavar="URL", help="A page of another origin that may call the endpoints."),
    ] = None
    hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A host name under which a proxy forwards requests."),
    ] = None
    title: Annotated[str, typer.Option(help="What the page is called.")] = "hopgraph"
    logo: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An image before the title: SVG, PNG, JPEG or WebP.")
    ] = None
    page_examples: Annotated[
        list[str] | None, typer.Option("--example", metavar="QUESTION", help="A question that the page offers.")
    ] = None
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True
