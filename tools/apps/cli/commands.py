"""The commands `ask`, `index`, `calibrate`, `methods`, `prompts`, `draw`, and those that serve."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand
from typing_extensions import override

from hopgraph.tools.apps.cli.command_options import (
    METHOD_HELP,
    CorpusOption,
    JsonOption,
    ModelOption,
    VerboseOption,
    command,
    flag,
    option,
)


class _AskCommand(TyperCommand):
    """A command that points out a question without quotes."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if "unexpected extra argument" in error.message:
                error.message += "; put the question in quotes"
            raise


@command(
    "ask_command.run_ask",
    'hopgraph ask "In what year did the sculptor of the Statue of Liberty die?"',
    'hopgraph ask "…" --model openai:gpt-4.1-mini --preset multi_hop',
    'hopgraph ask "…" --model "openai:qwen3?base_url=http://127.0.0.1:11434/v1"',
    'hopgraph ask "…" --corpus my-index --set max_iterations=3 --json',
    cls=_AskCommand,
)
class AskOptions:
    """Answer a question and show the steps as they happen."""

    question: Annotated[str, typer.Argument(metavar="QUESTION", help="The question; - reads standard input.")]
    method: str = option(METHOD_HELP, default="migres", metavar="NAME|FILE.py")
    model: ModelOption = None
    corpus: CorpusOption = None
    preset: str | None = option(
        "Use the paper's settings for a family of data sets; `hopgraph methods NAME` lists them.", metavar="FAMILY"
    )
    assignments: list[str] | None = option(
        "Set a setting of the method; repeatable. `hopgraph methods NAME` lists them.", "--set", metavar="KEY=VALUE"
    )
    as_json: JsonOption = False
    verbose: VerboseOption = False
    quiet: bool = flag("Show only the answer and its sources.", "--quiet", "-q")
    save: Path | None = option("Write the run to a file, as --json prints it, for `hopgraph draw`.", metavar="RUN.json")
    review: Literal["queries", "evidence", "all"] | None = option(
        "Pause for you to approve, edit or reject the queries, the evidence or both."
    )

    def __post_init__(self) -> None:
        if self.verbose + self.quiet + self.as_json > 1:
            raise typer.BadParameter("--json, --verbose and --quiet are mutually exclusive.")


@command(
    "index_command.run_index",
    "hopgraph index my-documents/ --out my-index",
    "hopgraph index corpus.jsonl --out my-index --skip-invalid",
    "hopgraph index hotpot_train.json --out my-index --format hotpotqa",
    "hopgraph index aufsaetze/ --out mein-index --language de",
    "hopgraph index corpus.jsonl --out my-index --dense st:sentence-transformers/all-MiniLM-L6-v2",
    "hopgraph index my-documents/ --out my-index --dry-run",
    "hopgraph index my-documents/ --out my-index --watch",
    "hopgraph index more.jsonl --out my-index --add",
    "hopgraph index psgs_w100.tsv --to milvus:http://localhost:19530#wiki",
)
class IndexOptions:
    """Build or update an index of your documents. It has BM25, and vectors with --dense or --colbert."""

    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder of documents, or a corpus file.")]
    out: Path | None = option(
        "The folder of the index. An existing index of SOURCE is updated: only changed files are read, and passages of "
        "deleted files are removed.",
        metavar="DIR",
    )
    to: str | None = option(
        "A collection of a search engine to fill, instead of a folder: milvus:FILE.db#COLLECTION, "
        "milvus:http://HOST:19530#COLLECTION or elasticsearch:http://HOST:9200#INDEX.",
        metavar="SPEC",
    )
    format_name: str | None = option(
        "The format of SOURCE, one of docs/data_formats.md, e.g. text (documents), beir, flashrag or hotpotqa.",
        "--format",
        metavar="NAME",
        show_default="detected from the content",
    )
    skip_invalid: bool = flag("Skip invalid records and count them.")
    follow_links: bool = flag("Follow symbolic links in a folder of documents.")
    exclude: list[str] | None = option(
        "Exclude files of a folder by a pattern as in .gitignore; repeatable. Patterns in the folder's .hopgraphignore "
        "always apply.",
        metavar="PATTERN",
    )
    show: Path | None = option(
        "Only print the passages of this file of SOURCE, as they would be searched and cited.", metavar="FILE"
    )
    language: str | None = option(
        "The documents' language, e.g. de, fr, zh, ja or ko, for stop words and stemming, or character bigrams in "
        "scripts without spaces (words with zh-words, ja-words and th-words, which need the extra `languages`).",
        metavar="CODE",
        show_default="detected for each document, else en",
    )
    ocr: str | None = option(
        "Read scanned PDF pages with Tesseract in these languages, e.g. eng+deu; about a second per page. Needs the "
        "extra `ocr`, which has the data for eng; TESSDATA_PREFIX names a folder with others.",
        metavar="CODES",
    )
    chunk_words: int | None = option(
        "Approximate words per passage.",
        metavar="N",
        show_default="100, or as before for an index being updated",
    )
    overlap: int | None = option("Maximum overlap of passages, in words.", metavar="N", show_default="0, or as before")
    dense: str | None = option(
        "Add vectors of an embedding model, searched as faiss:DIR or hybrid:DIR: st:NAME_OR_PATH "
        "(sentence-transformers), contriever:…, flag:… (BGE), or openai:NAME?base_url=URL. Needs the extra `models`.",
        metavar="MODEL",
    )
    faiss: str | None = option(
        "The kind of FAISS index for --dense.",
        metavar="flat|hnsw|ivfpq",
        show_default="flat up to 100,000 passages, hnsw up to 2,000,000, else ivfpq",
    )
    colbert: str | None = option(
        "Add token vectors of a late-interaction model, searched as colbert:DIR: a name, e.g. colbert-ir/colbertv2.0, "
        "or a folder, with options such as ?device=cuda. Needs the extra `colbert`.",
        metavar="MODEL",
    )
    add: bool = flag("Add SOURCE to an index in DIR that was built from other sources.")
    replace: bool = flag("Rebuild the index in DIR from SOURCE alone.")
    keep_deleted: bool = flag("Keep the passages of files that were deleted from SOURCE.")
    dry_run: bool = flag("Only show which files would be read or removed, and what would be skipped and why.")
    watch: bool = flag("Keep running, and update the index whenever a file in SOURCE changes (needs the extra `chat`).")

    def __post_init__(self) -> None:
        if self.replace and (self.add or self.keep_deleted or self.dry_run):
            raise typer.BadParameter("--replace rebuilds the index; --add, --keep-deleted and --dry-run update it.")
        if self.watch and (self.to or self.replace or self.dry_run or self.show):
            raise typer.BadParameter(
                "--watch updates an index in DIR; leave out --to, --replace, --dry-run and --show."
            )
        of_a_folder = self.colbert or self.faiss or self.add or self.replace
        if self.show is None and ((self.out is None) == (self.to is None) or (self.to and of_a_folder)):
            raise typer.BadParameter("Give --out DIR or --to SPEC; --colbert, --faiss, --add and --replace need --out.")


@command(
    "evaluation.training_commands.run_calibrate",
    "hopgraph calibrate hotpot_train.json --corpus my-index --keep 0.8",
)
class CalibrateOptions:
    """Find a reranker's threshold δ on training questions."""

    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="A file of training questions.")]
    corpus: str = option("The corpus of the questions, as in `ask`.", default=..., metavar="DIR|SPEC")
    reranker: str = option("The reranker to calibrate.", default="lexical", metavar="SPEC")
    keep: float = option("Share of the questions that must keep a passage.", default=0.8, metavar="SHARE")
    skip_invalid: bool = flag("Skip invalid records and count them.")
    as_json: JsonOption = False


@command("methods_command.run_methods", "hopgraph methods", "hopgraph methods migres")
class MethodsOptions:
    """List the methods, or show the settings of one."""

    name: Annotated[str | None, typer.Argument(metavar="NAME|FILE.py", help="Show this method's settings.")] = None
    as_json: bool = flag("Print JSON and nothing else.", "--json")


@command(
    "methods_command.run_prompts",
    "hopgraph prompts migres --out my-prompts",
    'hopgraph ask "…" --set prompts_dir=my-prompts',
)
class PromptsOptions:
    """Copy a method's prompt files, so that you can edit them."""

    method: Annotated[str, typer.Argument(metavar="METHOD", help=METHOD_HELP)]
    out: Path = option("The folder to copy them to.", default=..., metavar="DIR")
    force: bool = flag("Overwrite existing files.")


@command(
    "methods_command.run_draw",
    "hopgraph draw migres",
    'hopgraph ask "…" --method tree_of_reviews --save run.json',
    "hopgraph draw --run run.json",
    "hopgraph draw --run run.json --format png --out run.png",
)
class DrawOptions:
    """Draw a method's graph, or a run."""

    method: Annotated[str | None, typer.Argument(metavar="METHOD", help=METHOD_HELP)] = None
    run: Path | None = option("Draw this run, saved by `ask --save` or `ask --json`.", metavar="RUN.json")
    format_name: Literal["mermaid", "ascii", "svg", "png"] | None = option(
        "mermaid for a method; for a run ascii, svg, or png (needs the extra `png`).",
        "--format",
        show_default="mermaid for a method, ascii for a run",
    )
    out: Path | None = option("The file to write.", metavar="FILE", show_default="standard output")


ChatSetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A chat setting (see `hopgraph methods chat`).")
]
OwnMethodsOption = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="FILE.py|MODULE:GRAPH", help="Also offer this method; repeatable."),
]


@command(
    "serving_commands.run_chat",
    "hopgraph chat my_documents/",
    "hopgraph chat --corpus my-index --model openai:gpt-4.1-mini",
    "hopgraph chat my_documents/ --simple --title 'Ask ACME' --logo acme.svg --color '#0f766e'",
    "HOPGRAPH_API_KEY=… hopgraph chat --host 0.0.0.0 --no-browser",
)
class ChatOptions:
    """Open a chat page. It has endpoints for OpenAI, AG-UI and MCP clients. Needs the extra `chat`."""

    documents: Annotated[
        Path | None,
        typer.Argument(
            metavar="DOCUMENTS",
            help="A folder of documents, or one document, instead of --corpus. It is indexed in your cache folder, and "
            "the index is updated when files change.",
        ),
    ] = None
    corpus: CorpusOption = None
    model: ModelOption = None
    method: str | None = option(
        "The method preselected on the page, also used by clients that ask for auto. By default, auto chooses a "
        "method for each question.",
        metavar="NAME|FILE.py",
        show_default="HOPGRAPH_USE_METHOD, else auto",
    )
    assignments: ChatSetOption = None
    host: str = option(
        "The address to listen on. Any but this machine's needs HOPGRAPH_API_KEY: one key, or USER=KEY,USER=KEY. "
        "SECURITY.md lists HOPGRAPH_PROXIES and limits such as HOPGRAPH_CALLS_PER_DAY (20,000).",
        default="127.0.0.1",
        metavar="HOST",
    )
    port: int = option("The port; 0 chooses a free one.", default=7860, metavar="PORT", min=0, max=65535)
    threads: str | None = option(
        "Where to store conversations: a file, or postgresql://USER@HOST/DATABASE.",
        metavar="FILE|ADDRESS",
        show_default="a file in your data folder",
    )
    audit_log: Path | None = option(
        "Log each question and its user to this file, as JSON lines.",
        metavar="FILE",
        show_default="HOPGRAPH_AUDIT_LOG, else none",
    )
    keep_days: float | None = option(
        "Delete conversations, and documents added by users, this many days after their last change.",
        metavar="DAYS",
        show_default="HOPGRAPH_KEEP_DAYS, else never",
    )
    origins: list[str] | None = option(
        "A web origin whose pages may call the endpoints; repeatable.", "--allow-origin", metavar="URL"
    )
    hosts: list[str] | None = option("A host name of your proxy; repeatable.", "--allow-host", metavar="NAME")
    title: str = option("The page's title.", default="hopgraph", metavar="TEXT")
    logo: Path | None = option("Image beside the title: SVG, PNG, JPEG or WebP.", metavar="FILE")
    simple: bool = flag("Show only questions, answers and sources, without methods and settings.")
    color: str = option("The page's color.", default="", metavar="#RRGGBB")
    welcome: str = option("The page's greeting, in Markdown.", default="", metavar="TEXT")
    footer: str = option("Text below the question box, in Markdown.", default="", metavar="TEXT")
    page_examples: list[str] | None = option(
        "Example question on the page; repeatable.", "--example", metavar="QUESTION"
    )
    browser: bool = option("Open the page in the browser.", "--browser/--no-browser", default=True)

    def __post_init__(self) -> None:
        if self.documents and self.corpus:
            raise typer.BadParameter("Give DOCUMENTS or --corpus, not both.")


@command(
    "serving_commands.run_mcp",
    "hopgraph mcp",
    "hopgraph mcp --corpus my-index --model openai:gpt-4.1-mini --only auto,migres",
)
class McpOptions:
    """Offer the methods as tools to an MCP client. The client starts this command. Needs the extra `chat`."""

    model: ModelOption = None
    corpus: CorpusOption = None
    assignments: ChatSetOption = None
    methods: OwnMethodsOption = None
    only: list[str] | None = option("Offer only these tools, e.g. auto,migres; repeatable.", metavar="A,B,…")


@command(
    "serving_commands.run_serve",
    "hopgraph serve",
    "hopgraph serve --corpus my-index --model openai:gpt-4.1-mini --browser",
)
class ServeOptions:
    """Serve the methods to LangGraph Studio and langgraph-sdk. Runs LangGraph's development server.

    HOPGRAPH_QUESTIONS_PER_MINUTE (60) and HOPGRAPH_CALLS_PER_DAY (20,000) limit each user of HOPGRAPH_API_KEY.
    """

    host: str = option("The address to listen on; 0.0.0.0 needs HOPGRAPH_API_KEY.", default="127.0.0.1", metavar="HOST")
    port: int = option("The port.", default=2024, metavar="PORT", min=1, max=65535)
    browser: bool = flag("Open LangGraph Studio, a page of LangSmith, in the browser.", "--browser/--no-browser")
    methods: OwnMethodsOption = None
    model: ModelOption = None
    corpus: CorpusOption = None
