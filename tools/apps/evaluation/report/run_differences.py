"""Differences between runs: questions, corpora, settings, prompts, versions, commits; from their manifests."""

from collections.abc import Mapping, Sequence

from hopgraph.tools.apps.evaluation.batch.run_directory import RunManifest, RunReader, shown_model
from hopgraph.tools.apps.evaluation.comparison import run_labels
from hopgraph.tools.apps.evaluation.report.tables import Table, text_cell

_HASH = 8
"""Characters of a hash that are shown: enough to tell a few apart."""


def differences_table(readers: Sequence[RunReader]) -> Table:
    """Make a table of runs → what is not the same in all of them; without rows where nothing differs."""
    facts = [_facts(each.manifest) for each in readers]
    names = dict.fromkeys(name for each in facts for name in each)
    differing = [name for name in names if len({each.get(name, "") for each in facts}) > 1]
    labels = run_labels([each.folder for each in readers])
    rows = [
        [text_cell(label), *(text_cell(each.get(name, "")) for name in differing)]
        for label, each in zip(labels, facts, strict=True)
    ]
    note = "Of prompts, data sets, corpora and code the beginning of a hash. What is not named here is the same in all."
    return Table("What differs between the runs", note, ["run", *differing], rows if differing else [])


def _facts(manifest: RunManifest) -> dict[str, str]:
    dataset, corpus = manifest.dataset, manifest.corpus
    prompts = {
        name: {f"prompt {step}": each[:_HASH] for step, each in own.items()} for name, own in manifest.prompts.items()
    }
    facts: dict[str, object] = {
        "data set": dataset.label or dataset.name,
        "data set's hash": dataset.sha256[:_HASH],
        "questions": dataset.sample,
        "names": "" if dataset.renamed is None else f"renamed, seed {dataset.renamed}",
        "corpus": corpus.retriever,
        "corpus' hash": corpus.fingerprint[:_HASH],
        "repeats": manifest.repeats,
        "methods": ", ".join(manifest.methods),
        **_by_method(manifest.methods),
        **_by_method(prompts),
        **{f"code of {name}": each[:_HASH] for name, each in manifest.code.items()},
        **manifest.libraries,
        "commit": manifest.commit[:_HASH] + "-dirty" * manifest.commit.endswith("-dirty"),
    }
    return {name: shown_model(str(value)) for name, value in facts.items() if value is not None}


def _by_method(methods: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """Name each value by its key, where all methods of a run that have it agree; and by the method and its key."""
    found: dict[str, object] = {}
    for key in dict.fromkeys(key for own in methods.values() for key in own):
        values = {name: own[key] for name, own in methods.items() if key in own}
        if len(set(map(repr, values.values()))) == 1:
            found[key] = next(iter(values.values()))
        else:
            found |= {f"{name}.{key}": value for name, value in values.items()}
    return found
