"""Derive the specifications of a study's runs: settings of methods, files of data sets, folders."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml

from hopgraph.graphs import GROUPS, METHODS, find_method, list_methods
from hopgraph.state import Context, SettingsError
from hopgraph.state.context import settings_in_use
from hopgraph.state.environment import parse_setting, settings_from
from hopgraph.state.errors import did_you_mean, format_error
from hopgraph.tools.apps.evaluation.batch.run_directory import DOWNLOADED
from hopgraph.tools.apps.evaluation.batch.run_setup import RunSpec
from hopgraph.tools.apps.evaluation.datasets import HUB_PREFIX, QuestionSample, download_dataset, parse_sample
from hopgraph.tools.apps.evaluation.study_model import QuestionSet, Settings, Study, make_study
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.io.load_object import parse_place
from hopgraph.tools.retrieval.index_folder import INDEX_KINDS
from hopgraph.tools.retrieval.resolve import SAMPLE, corpus_spec

ALL_METHODS = "all"
"""Stands for all methods whose requirements are met."""


def read_study(path: Path) -> Study:
    """Read a study file, to whose folder its paths are relative; SettingsError if it is invalid."""
    try:
        given = yaml.safe_load(read_source(path.expanduser(), pipe=True))
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise SettingsError(f"{path}: cannot be read: {format_error(error)}") from None
    if not isinstance(given, dict):
        raise SettingsError(f"{path}: not a study; `hopgraph study init` writes an example")
    try:
        study = make_study(cast("dict[str, Any]", given))
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None
    file = path.expanduser()
    return _placed(study, file.parent) if file.is_file() else study  # a pipe has no folder


def _placed(study: Study, folder: Path) -> Study:
    """Return a study with paths resolved against a folder, except those in specs of models and in settings."""

    def place(given: str | Path) -> str:
        return str(folder / Path(given).expanduser())

    def corpus(given: str) -> str:
        kind, _, index = corpus_spec(given).partition(":")
        index, mark, options = index.partition("?")
        return f"{kind}:{place(index)}{mark}{options}" if kind in INDEX_KINDS else given

    def method(given: str) -> str:
        code = parse_place(given, "")
        return place(given) if code and code.is_file else given

    datasets = {
        name: each.model_copy(
            update={
                "file": each.file if each.file == SAMPLE or each.file.startswith(HUB_PREFIX) else place(each.file),
                "corpus": each.corpus and corpus(each.corpus),
            }
        )
        for name, each in study.datasets.items()
    }
    placed = {
        "out": Path(place(study.out)),
        "datasets": datasets,
        "methods": {method(name): settings for name, settings in study.methods.items()},
        "against": study.against and method(study.against),
        "prices": study.prices and Path(place(study.prices)),
    }
    return study.model_copy(update=placed)


def list_runs(study: Study, note: Callable[[str], None]) -> list[RunSpec]:
    """Return the runs of a study, after downloading its data sets; call `note` for methods left out of `all`.

    SettingsError: an invalid name or value.
    """
    points, models = study.points(), study.models
    for point in points.values():  # report invalid names before downloading
        method_settings(study, point)
    files = {name: dataset_file(each, study.out) for name, each in study.datasets.items()}
    runs: list[RunSpec] = []
    for data, file in files.items():
        for model, spec in models.items():
            for point, settings in points.items():
                label = "+".join(filter(None, (data, model, point)))
                methods = _with_all_they_need(study, method_settings(study, settings, played_model(spec, file)), note)
                out = study.out.expanduser() / label
                made = run_spec(study, study.datasets[data], file, out, methods)
                runs.append(replace(made, name=label, label=data, model_label=model))
    return runs


def method_settings(study: Study, point: Settings | None = None, model: str | None = None) -> dict[str, Context]:
    """Return the settings of each method: the study's, overridden by its own, then by those of a point of the sweep.

    `name: value` applies to all methods that have the setting, `method.name: value` to one. Strings are parsed as on
    the command line. SettingsError: no method has a setting, or a value is invalid.
    """
    own = _expanded(study.methods)
    contexts: dict[str, type[Context]] = {name: METHODS[name].Context for name in own}
    read = {name: settings_in_use(each) for name, each in contexts.items()}
    values: dict[str, dict[str, object]] = {name: {} for name in own}
    given = [*study.settings.items()]
    given += [(f"{name}.{key}", value) for name, settings in own.items() for key, value in settings.items()]
    for assigned, value in [*given, *(point or {}).items()]:
        owner, dot, key = assigned.strip().replace("-", "_").rpartition(".")
        owners = [find_method(owner).name] if dot else [*own]
        owners = [name for name in own if name in owners and key in read[name]]
        if not owners:
            known = sorted(set[str]().union(*read.values()))
            none = f"none of the methods {', '.join(own)} has this setting"
            raise SettingsError(f"setting {assigned!r:.80}: {none}{did_you_mean(key, known)}")
        for name in owners:
            values[name][key] = parse_setting(contexts[name], key, value.strip()) if isinstance(value, str) else value
    if study.preset and not any(study.preset in each.presets for each in contexts.values()):
        raise SettingsError(f"preset {study.preset!r} is unknown for {', '.join(own)}")
    made = dict[str, Context]()
    for name, each in contexts.items():
        preset = study.preset if study.preset in each.presets else None
        if model is not None and "model" in read[name]:
            if "model" in values[name]:
                raise SettingsError("setting 'model' is set twice: as a model and as a setting; use one")
            values[name]["model"] = model
        made[name] = settings_from(each, values[name], preset)
    return made


def _expanded(methods: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the methods with groups expanded."""
    named: dict[str, Settings] = {}
    for given, settings in methods.items():
        known = list_methods()
        names = (
            [*known] if given.lower() == ALL_METHODS else [name for name, each in known.items() if each.group == given]
        )
        if not (names and (given in GROUPS or given.lower() == ALL_METHODS)):
            names = [find_method(given).name]
        named |= {name: {**named.get(name, {}), **settings} for name in names}
    return named


def _with_all_they_need(study: Study, made: dict[str, Context], note: Callable[[str], None]) -> dict[str, Context]:
    """Leave methods with unmet requirements out of `all`, with a note; SettingsError if one was named."""
    for name, lacking in [(name, each.missing) for name, each in made.items() if each.missing]:
        if not _names_all(study):
            raise SettingsError(lacking)
        note(f"Left out: {lacking}.")
        del made[name]
    return made


def _names_all(study: Study) -> bool:
    return ALL_METHODS in map(str.lower, study.methods)


def dataset_file(questions: QuestionSet, out: Path) -> Path:
    """Return the path of a data set; one of the hub is downloaded into `out`, under a name derived from the request."""
    given = questions.file
    if given.startswith(HUB_PREFIX):
        sample = _sample(questions)
        limit = sample.skip + sample.limit if sample.limit is not None and sample.seed is None else None
        asked_for = hashlib.sha256(f"{given} {limit}".encode()).hexdigest()[:8]
        return download_dataset(given, out.expanduser() / f"{DOWNLOADED}{asked_for}.jsonl", limit=limit)
    if given == SAMPLE and not Path(given).exists():
        return Path(str(resources.files("hopgraph.tools.retrieval.sample")))
    return Path(given).expanduser()


def _sample(questions: QuestionSet) -> QuestionSample:
    return parse_sample(questions.sample, questions.limit, questions.ids or (), questions.skip or 0)


def played_model(model: str | None, dataset: Path) -> str | None:
    """Return a model's spec, with the run's data set added to a bare `rehearsal`."""
    name, mark, rest = (model or "").partition("?")
    return f"rehearsal:{dataset}{mark}{rest}" if name == "rehearsal" else model


def run_spec(study: Study, questions: QuestionSet, dataset: Path, out: Path, methods: Mapping[str, Context]) -> RunSpec:
    """Return the specification of a run with these settings of each method."""
    return RunSpec(
        dataset,
        methods,
        out,
        sample=_sample(questions),
        format_name=questions.format,
        corpus=corpus_spec(questions.corpus) if questions.corpus else None,
        rename=questions.rename,
        add_contexts=questions.add_contexts,
        repeats=study.repeats,
        skip_invalid=questions.skip_invalid,
        all_methods=_names_all(study),
    )
