"""Settings: where they come from, what is refused, what a run is held to."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ValidationError

from hopgraph.state import SettingsError
from hopgraph.state.context import make_settings
from hopgraph.state.environment import parse_setting, resolve_settings
from hopgraph.state.errors import format_error
from hopgraph.state.fingerprint import check_same_settings, record_settings
from hopgraph.state.migres import MigresContext


@dataclass
class Host:
    user: str = "ann"
    hopgraph: Any = None


@pytest.mark.parametrize(
    ("given_context", "expected"),
    [
        (None, 5),
        (MigresContext(max_iterations=2), 2),
        ({"max_iterations": 2}, 2),
        ({"user": "ann"}, 5),
        ({"user": "ann", "hopgraph": {"max_iterations": 2}}, 2),
        ({"hopgraph": MigresContext(max_iterations=2)}, 2),
        (Host(), 5),
        (Host(hopgraph={"max_iterations": 2}), 2),
        (Host(hopgraph=MigresContext(max_iterations=2)), 2),
        (object(), 5),
    ],
)
def test_whatever_a_node_is_given_becomes_settings(given_context: object, expected: int) -> None:
    assert resolve_settings(given_context, MigresContext).max_iterations == expected


class _OnlyScores:
    def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [0.0 for _ in pairs]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"max_iteration": 3}, "'max_iteration' is unknown for migres"),
        ({"max_iterations": 0}, "'max_iterations': .*greater than or equal to 1, got 0"),
        ({"max_iterations": "soon"}, "'max_iterations': .*got 'soon'"),
        ({"threshold": float("nan")}, "'threshold'"),
        ({"answer_type": "essay"}, "'answer_type'"),
        ({"model": 7}, "'model': expected a spec or a LangChain chat model, got int"),
        ({"models": {"migres/decide": 7}}, "'models': expected a spec or a LangChain chat model, got int"),
        ({"models": [7]}, "'models': Input should be a valid dictionary"),
        ({"retriever": object()}, r"'retriever': expected a spec or a LangChain retriever \(.*\), got object"),
        (
            {"reranker": object()},
            "'reranker': object has no name and no score and no threshold; it needs name, score, thr",
        ),
        ({"entailment": _OnlyScores()}, "'entailment': _OnlyScores has no name and no threshold; it needs name, score"),
    ],
)
def test_a_bad_setting_is_named_in_one_line(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said) as caught:
        make_settings(MigresContext, values)
    assert "\n" not in str(caught.value)


def test_what_the_call_says_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "9")
    monkeypatch.setenv("HOPGRAPH_THRESHOLD", "none")
    monkeypatch.setenv("HOPGRAPH_MODELS", '{"migres/decide": "offline:extractive"}')
    monkeypatch.setenv("HOPGRAPH_MAX_QUERIES", "")
    made = resolve_settings({"threshold": 1.5}, MigresContext)
    assert (made.max_iterations, made.threshold, made.max_queries) == (9, 1.5, 3)
    assert made.models == {"migres/decide": "offline:extractive"}
    assert resolve_settings({"max_iterations": 5}, MigresContext).max_iterations == 5  # also when it is the default


def test_a_papers_threshold_is_for_the_papers_reranker_only() -> None:
    assert MigresContext.preset("open_domain").threshold == 5.0
    assert MigresContext.preset("open_domain").threshold_reranker == "bge"
    assert MigresContext.preset("open_domain", threshold=0.5).threshold_reranker is None
    with pytest.raises(SettingsError, match=r"'closed'.*multi_hop, open_domain, yes_no"):
        MigresContext.preset("closed")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("threshold", "none", None),
        ("threshold", "3", "3"),
        ("model", "None", None),
        ("models", '{"a": "b"}', {"a": "b"}),
    ],
)
def test_settings_are_read_as_people_write_them(name: str, text: str, value: object) -> None:
    assert parse_setting(MigresContext, name, text) == value


def test_limits_may_change_between_halves_of_a_run_and_nothing_else_may() -> None:
    before = record_settings(MigresContext(max_iterations=2, max_llm_calls=3))
    check_same_settings(before, MigresContext(max_iterations=2, max_llm_calls=30, request_timeout=5))
    with pytest.raises(SettingsError, match="max_iterations = 2 and was resumed with 3"):
        check_same_settings(before, MigresContext(max_iterations=3))
    check_same_settings({}, MigresContext())


_KEYS = st.text(max_size=20) | st.sampled_from(["hopgraph", "max_iterations", "models"])
_VALUES = st.none() | st.integers() | st.text(max_size=20)


@given(st.dictionaries(_KEYS, _VALUES | st.lists(_VALUES) | st.dictionaries(_KEYS, _VALUES), max_size=4))
def test_no_dict_does_worse_than_a_clear_error(values: dict[str, Any]) -> None:
    said = ""
    try:
        assert isinstance(resolve_settings(values, MigresContext), MigresContext)
    except SettingsError as error:
        said = str(error)
    assert "\n" not in said


def test_an_error_of_pydantics_is_one_short_line() -> None:
    class Strict(BaseModel, extra="forbid"):
        name: Annotated[str, AfterValidator(lambda text: _refuse(text))] = ""

    for value in ({"name": "x"}, {"y" * 10_000: 1}, {"name": "\n" * 9}, [], {"name": None}):
        with pytest.raises(ValidationError) as caught:
            Strict.model_validate(value)
        said = format_error(caught.value, whole="the record", got=True)
        assert "\n" not in said
        assert "Value error" not in said
        assert len(said) < 400


def _refuse(text: str) -> str:
    raise ValueError(f"{text!r}\nis no name")
