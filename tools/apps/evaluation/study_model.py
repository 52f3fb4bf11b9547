"""The model of a study file: data sets, methods, models, settings and sweeps.

It imports little, since the command line's options are its fields.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, JsonValue, ValidationError, field_validator, model_validator

_MAX_LABEL = 80  # characters of a point's name, which is part of a folder name
_Name = Annotated[str, Field(pattern=r"^[\w.,=-]*$", max_length=_MAX_LABEL)]
Settings = dict[str, JsonValue]
"""SETTING or METHOD.SETTING → value."""


def _field(default: Any, description: str, **bounds: Any) -> Any:
    return Field(default, description=description, **bounds)


class _Entries(BaseModel, frozen=True, extra="forbid"):
    if not TYPE_CHECKING:  # type checkers and editors know the fields

        def __init__(self, **values: Any) -> None:
            """Create it from its fields; SettingsError, in one line, if one is invalid."""
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise _describe(type(self), error) from None

        __init__.__pydantic_base_init__ = True  # so that `model_validate` does not call it


def _describe(model: type[BaseModel], error: ValidationError) -> Exception:
    from hopgraph.state.errors import SettingsError, did_you_mean, format_error  # a slow import

    unknown = next((each["loc"] for each in error.errors() if each["type"] == "extra_forbidden"), None)
    if unknown is None:
        return SettingsError(format_error(error, got=bool(error.errors()[0]["loc"])))
    *place, key = map(str, unknown)
    hint = did_you_mean(key, (QuestionSet if place else model).model_fields)
    return SettingsError(": ".join([*filter(None, [".".join(place)]), f"unknown key {key!r:.80}{hint}"]))


class QuestionSet(_Entries, frozen=True):
    """Questions and the source of their passages."""

    file: str = Field(description="a file of questions, a BEIR folder, hub:OWNER/NAME?config=…&split=…, or sample")
    format: str | None = _field(None, "the format of the questions. Default: detected from the content")
    corpus: str | None = _field(
        None, "a folder made by `hopgraph index`, or a retriever's spec. Default: the pooled contexts of all questions"
    )
    limit: int | None = _field(None, "ask at most N questions", ge=1)
    skip: int | None = _field(None, "skip the first N questions", ge=0)
    sample: str | None = _field(None, "how to choose the N questions: first, or random:SEED")
    ids: list[str] | None = _field(None, "ask only the questions with these ids")
    add_contexts: bool = _field(False, "add the data set's contexts to the corpus (MIGRES's oracle setting)")
    rename: int | None = _field(
        None,
        "rename people, places and works in questions, answers and passages with this seed, so that the model cannot "
        "answer from memory",
        ge=0,
    )
    skip_invalid: bool = _field(False, "skip invalid records and report them")


class Study(_Entries, frozen=True):
    """Each method with each model on each data set and at each point of a sweep, in one folder."""

    out: Path = Field(description="the folder of the results; an unfinished study in it is resumed")
    datasets: dict[_Name, QuestionSet] = Field(
        description="name → questions; a bare file name is short for {file: NAME}", min_length=1
    )
    methods: dict[str, Settings] = Field(
        description="methods: names or groups of `hopgraph methods`, or your method (FILE.py), "
        "each with its own settings; or a list of them",
        min_length=1,
    )
    models: dict[_Name, str | None] = _field({"": None}, "name → spec of a model; or a list of specs", min_length=1)
    settings: Settings = _field({}, "settings of all methods that have them; METHOD.SETTING sets one method's")
    preset: str | None = _field(None, "use the papers' settings for a family of data sets, in methods that have them")
    sweep: dict[str, Annotated[list[JsonValue], Field(min_length=1)]] | list[Settings] = _field(
        {}, "setting → values; every combination is run. Or a list of combinations"
    )
    repeats: int = _field(1, "how many times to ask each question, with different seeds; scores are means", ge=1)
    oracle: str | None = _field(
        None,
        "repeat the run with this step answered from the gold annotations, and report how much F1 the model loses in "
        "it; all: each step in turn, then all together",
    )
    judge: str | None = _field(None, "model that judges whether an answer implies a gold answer")
    second_judge: str | None = _field(None, "second judge; its agreement with the first is reported")
    audit_judge: bool = _field(
        False, "show the judge other questions' gold answers, to detect use of its own knowledge; implied by rename"
    )
    tables: list[Path] = _field(
        [],
        "files of tables that the finished study writes: .tex, .md, .csv, .html or .json; a relative path is below out",
    )
    scores: list[str] = _field(
        ["em", "f1"], "scores in the tables of all runs: em, f1, acc, judged, recall@5, …", min_length=1
    )
    against: str | None = _field(
        None, "baseline of the paired tests, with the same model. Default: one_step, else the first"
    )
    measures: list[str] = _field([], "retrieval measures, as ir_measures names them: nDCG@10 (needs the extra trec)")
    prices: Path | None = _field(None, "TOML file of prices per million tokens by model, e.g. examples/prices.toml")
    max_calls: int | None = _field(None, "stop after N model calls", ge=1)
    max_cost: float | None = _field(None, "stop at this cost (needs prices)", ge=0)
    concurrency: int = _field(16, "questions answered concurrently", ge=1)
    max_outage: float = _field(300.0, "seconds to wait for a model's server to recover", ge=0)
    retry_failed: bool = _field(False, "ask failed questions again")
    fresh: bool = _field(
        False,
        "do not use the reply cache that your runs share (to use another one, set cache_dir)",
    )
    no_traces: bool = _field(False, "do not store steps; saves space, but `hopgraph show` needs them")
    engine: Literal["local", "ray"] = _field(
        "local", "where to answer questions: on this machine, or on a Ray cluster (needs the extra `ray`)"
    )
    processes: int | None = _field(
        1,
        "number of worker processes. Default: as suits the concurrent calls. Each further one imports the script that "
        'was started, so its work must be under `if __name__ == "__main__":`',
        ge=1,
        le=256,
    )

    @field_validator("datasets", mode="before", json_schema_input_type=dict[_Name, QuestionSet | str] | list[str])
    @classmethod
    def _name_datasets(cls, given: Any) -> Any:
        if isinstance(given, list):
            given = _named(cast("list[Any]", given), "data sets", lambda file: Path(file).stem)
        if not isinstance(given, Mapping):
            return given
        sets = cast("Mapping[str, Any]", given).items()
        return {name: {"file": each} if isinstance(each, str | Path) else each for name, each in sets}

    @field_validator("methods", mode="before", json_schema_input_type=dict[str, Settings | None] | list[str])
    @classmethod
    def _list_methods(cls, given: Any) -> Any:
        if isinstance(given, list | tuple):
            return {str(each): Settings() for each in cast("list[Any]", given)}
        if not isinstance(given, Mapping):
            return given
        methods = cast("Mapping[str, Any]", given).items()
        return {name: Settings() if settings is None else settings for name, settings in methods}

    @field_validator("models", mode="before", json_schema_input_type=dict[_Name, str | None] | list[str] | str)
    @classmethod
    def _name_models(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"": given}
        if isinstance(given, list):
            return _named(cast("list[Any]", given), "models", _model_name)
        return given

    @model_validator(mode="after")
    def _check(self) -> "Study":
        if self.max_cost is not None and self.prices is None:
            raise ValueError("max_cost needs prices, a file with those of your models")
        return self

    def points(self) -> dict[str, Settings]:
        """Return name → settings of each point of the sweep; without a sweep, one point with an empty name."""
        if isinstance(self.sweep, list):
            points = self.sweep
        else:
            values = itertools.product(*self.sweep.values())
            points = [dict(zip(self.sweep, each, strict=True)) for each in values]
        named: dict[str, Settings] = {}
        for point in points or [Settings()]:
            name = re.sub(r"[^\w.,=-]+", "-", ",".join(f"{key}={value}" for key, value in point.items()))
            if len(name) > _MAX_LABEL or name in named:
                name = hashlib.sha256(repr(point).encode("utf-8", "surrogatepass")).hexdigest()[:12]
            named[name] = point
        return named


def _model_name(spec: str) -> str:
    plain = spec.partition("?")[0]
    return plain.partition(":")[2] or plain


def _named(given: list[Any], what: str, name_of: Callable[[str], str]) -> dict[str, Any]:
    """Return the entries of a list by names derived from them; ValueError if two would have the same name."""
    named: dict[str, Any] = {}
    for each in given:
        if not isinstance(each, str):
            raise ValueError(f"write the {what} as a mapping of names, or as a list of strings")
        name = re.sub(r"[^\w.,=-]+", "-", name_of(each))
        if name in named:
            raise ValueError(f"two {what} would be named {name!r}; write them as a mapping of names")
        named[name] = each
    return named


def make_study(values: Mapping[str, Any]) -> Study:
    """Create a study from the values of a file; SettingsError, in one line, if one is invalid."""
    return Study(**{str(key): value for key, value in values.items()})


def study_schema() -> str:
    """Return the JSON schema of a study's file."""
    return json.dumps({"title": "hopgraph study", **Study.model_json_schema()}, indent=2)


def example_study() -> str:
    """Return a commented example of a study file, which can be run as it is."""
    return _EXAMPLE


_EXAMPLE = """\
# yaml-language-server: $schema=study.schema.json
#
#   hopgraph eval study.yaml --dry-run    the runs, their calls and their cost
#   hopgraph eval study.yaml              run it; after Ctrl-C or a crash the same command resumes it
#   hopgraph eval study.yaml --limit 5    a pilot; the whole study then asks only what is missing
#   hopgraph compare runs/study           the tables, at any time
#
# Paths are relative to this file's folder; those in settings and in specs of models, to the current one.

out: runs/study

datasets: # name: questions (a file, a BEIR folder, hub:OWNER/NAME, or the bundled sample)
  sample: {file: sample, limit: 10}
  # hotpot: {file: hotpot_dev_distractor_v1.json, sample: "random:7", limit: 500}
  # musique: {file: "hub:dgslibisey/MuSiQue", corpus: my_index, limit: 500}

methods: # of `hopgraph methods`; each may have its own settings
  one_step:
  migres: {max_iterations: 3}

models: # name: spec; the same methods run with each of them
  offline: offline:extractive
  # mini: openai:gpt-4.1-mini
  # qwen: openai:Qwen3-8B?base_url=http://localhost:8000/v1

settings: # of all methods that have them; METHOD.SETTING is for one method
  temperature: 0.0

sweep: # every combination is run; a list of mappings instead names the combinations
  top_k: [3, 5]

repeats: 1

tables: [table.tex, report.html] # written below `out` when everything is answered; also .md, .csv, .json
scores: [em, f1]                 # also acc, judged, recall@5, grounded_f1, citation_recall, …
against: one_step                # the others are tested against it

# measures: [nDCG@10, RR]      # of the retrieved passages; needs the extra `trec`
# judge: openai:gpt-4.1        # a model that judges the answers
# prices: prices.toml          # ["openai:gpt-4.1-mini"]  prompt = 0.40  completion = 1.60
# max_cost: 20                 # stop at this cost, computed from the prices
# concurrency: 32              # questions in flight
"""
