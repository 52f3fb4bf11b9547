from pathlib import Path

import pytest

from hopgraph.graphs import METHODS, migres
from hopgraph.state import SettingsError
from hopgraph.tools.apps.cli.settings_options import settings_for
from hopgraph.tools.retrieval.resolve import corpus_spec

Context = migres.Context


def test_assignments_override_the_preset_and_options_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_MODEL", "openai:from-environment")
    monkeypatch.setenv("HOPGRAPH_MAX_QUERIES", "2")
    settings = settings_for(
        Context,
        preset="open_domain",
        assignments=["max_iterations=7", "max_iterations=4", "top-k = 9"],
        model="offline:extractive",
    )
    assert settings.model == "offline:extractive"
    assert (settings.max_iterations, settings.top_k, settings.max_queries) == (4, 9, 2)
    assert (settings.threshold, settings.threshold_reranker) == (5.0, "bge")


def test_an_explicit_threshold_is_not_tied_to_the_presets_reranker() -> None:
    settings = settings_for(Context, preset="open_domain", assignments=["threshold=0.5"])
    assert (settings.threshold, settings.threshold_reranker) == (0.5, None)


@pytest.mark.parametrize("name", sorted(Context.model_fields))
def test_set_reaches_every_field(name: str) -> None:
    values = {
        "parse_retries": "3",
        "models": '{"migres/decide": "openai:x"}',
        "compression": "snippet",
        "extraction": "per_query",
        "answer_type": "yes_no",
        "recall": "false",
        "verify": "false",
        "memory": "false",
        "abstain": "false",
        "links": "false",
    }
    settings = settings_for(Context, assignments=[f"{name}={values.get(name, '1')}"])
    assert settings.model_fields_set == {name}
    assert getattr(settings, name) != Context.model_fields[name].get_default(call_default_factory=True)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("max_iteration=3", "setting 'max_iteration' is unknown for migres; did you mean 'max_iterations'?"),
        ("xyzzy=3", "setting 'xyzzy' is unknown for migres; available: model, models,"),
        ("max_iterations=0", "setting 'max_iterations': "),
        ("max_iterations=21", "setting 'max_iterations': "),
        ("max_iterations=many", "setting 'max_iterations': "),
        ("max_iterations=", "setting 'max_iterations': "),
        ("retriever=", "setting 'retriever': its value is empty; write retriever=VALUE"),
        ("model= ", "setting 'model': its value is empty"),
        ("threshold=inf", "setting 'threshold': "),
        ("compression=zip", "setting 'compression': "),
        ("models={", "setting 'models': expected a JSON object"),
        ("max_iterations", "--set 'max_iterations': write it as key=value"),
        ("=3", "--set '=3': write it as key=value"),
    ],
)
def test_an_invalid_assignment_is_reported(assignment: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_for(Context, assignments=[assignment])
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_list_setting_requires_a_list() -> None:
    with pytest.raises(SettingsError, match=r"setting 'gold_passages': expected a JSON list, got 'x'"):
        settings_for(METHODS["gold_passages"].Context, assignments=["gold_passages=x"])
    given = '[{"title": "T", "text": "Riga is a city."}]'
    settings = settings_for(METHODS["gold_passages"].Context, assignments=[f"gold_passages={given}"])
    assert settings.model_dump()["gold_passages"] == [{"title": "T", "text": "Riga is a city."}]


def test_a_setting_that_is_set_twice_is_refused() -> None:
    with pytest.raises(SettingsError, match="'model' is set by both --model and --set"):
        settings_for(Context, assignments=["model=a:b"], model="a:b")
    with pytest.raises(SettingsError, match="'retriever' is set by both"):
        settings_for(Context, assignments=["retriever=sample"], corpus="sample")


@pytest.mark.parametrize(
    ("given", "spec"),
    [
        ("sample", "sample"),
        ("my-index", "bm25:my-index"),
        ("/data/index", "bm25:/data/index"),
        ("bm25:my-index", "bm25:my-index"),
        ("bm25:", "bm25:"),
        ("milvus:http://host#c", "milvus:http://host#c"),
        ("C:\\index", "bm25:C:\\index"),
    ],
)
def test_a_corpus_is_a_folder_unless_it_is_a_spec(given: str, spec: str) -> None:
    assert corpus_spec(given) == spec


def test_a_folder_takes_precedence_over_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sample").mkdir()
    assert corpus_spec("sample") == "bm25:sample"
