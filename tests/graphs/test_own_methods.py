"""Methods that are not in the folder: by a file, by a module, by a package's entry point."""

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hopgraph.graphs import METHODS, Methods, find_method, list_methods
from hopgraph.state import HopgraphError, SettingsError, SpecError
from hopgraph.state.context import make_settings
from hopgraph.tools.io.load_object import CodePlace
from hopgraph.tools.prompts import list_prompt_files, prompts_root, read_prompt
from support.own_methods import ASKING, NATIVE, PLAIN, VARIANT, forget_added_methods, write_package
from support.servers.scripted_model import ScriptedChatModel


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what a test adds."""
    forget_added_methods(monkeypatch)
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        if not name.startswith(("hopgraph.", "langchain", "langgraph")):
            del sys.modules[name]


def written(folder: Path, code: str, name: str = "mine.py") -> str:
    (folder / name).write_text(code, "utf-8")
    return str(folder / name)


def answer(method: str, **settings: Any) -> dict[str, Any]:
    found = find_method(method)
    return found.graph.invoke({"question": " Who? "}, context=make_settings(found.Context, settings))


def test_a_file_is_a_method_that_everything_finds_by_its_name(tmp_path: Path) -> None:
    place = written(tmp_path, NATIVE)
    method = find_method(place)
    assert (method.name, method.graph, str(method.place)) == ("short_way", method.drawn_graph, f"{place}:graph")
    assert METHODS["short_way"] is find_method("short_way") is find_method(f"{place}:graph") is method
    assert list(list_methods())[-1] == "short_way"
    assert METHODS.external() == [f"{place}:graph"]
    assert method.group == "others"


def test_a_variant_has_a_context_that_other_processes_find(tmp_path: Path) -> None:
    place = written(tmp_path, VARIANT, "noted.py")
    one, two = find_method(place), find_method(f"{place}:other")
    assert (one.name, two.name) == ("noted", "other")
    assert issubclass(one.Context, METHODS["blendfilter"].Context)
    restored: Any = pickle.loads(pickle.dumps(one.Context(max_llm_calls=3)))  # noqa: S301 - our own
    assert (type(restored), restored.max_llm_calls) == (one.Context, 3)
    assert one.Context.__module__ == two.Context.__module__ != METHODS["blendfilter"].Context.__module__
    prompts = [read_prompt(f"{name}/answer_step_by_step") for name in ("noted", "blendfilter")]
    assert prompts[0] == prompts[1] != read_prompt("ircot/answer_step_by_step")


def test_a_plain_graph_with_a_context_of_ours_needs_a_name(tmp_path: Path) -> None:
    code = """
from langgraph.graph import END, START, StateGraph
from hopgraph.graphs import migres

builder = StateGraph(migres.MigresState, migres.Context)
builder.add_node("mine", lambda state: {"answer": "mine"}).add_edge(START, "mine").add_edge("mine", END)
graph = builder.compile()
"""
    with pytest.raises(SettingsError, match=r"a method named 'migres' already exists.*change Context.method"):
        find_method(written(tmp_path, code))


def test_a_module_is_found_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "of_mine").mkdir()
    written(tmp_path / "of_mine", PLAIN, "flow.py")
    monkeypatch.chdir(tmp_path)
    assert find_method("of_mine.flow:graph").name == "flow"
    assert find_method("of_mine.flow:other").name == "other"


def test_a_package_offers_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(tmp_path, short_way=NATIVE, broken="raise OSError('no disk')")
    monkeypatch.syspath_prepend(tmp_path)
    from hopgraph.graphs import registry

    installed = registry.__dict__["_installed"](METHODS)
    assert installed == {name: CodePlace(f"pkg_{name}", "graph") for name in ("short_way", "broken")}
    methods = Methods(installed)
    assert methods["short_way"].name == "short_way"
    with pytest.raises(SpecError, match=r"pkg_broken cannot be loaded: pkg_broken.py, line 1: OSError: no disk"):
        assert methods["broken"]


def test_a_file_in_the_working_directory_does_not_hide_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site" / "their_methods").mkdir(parents=True)  # without __init__.py, as any file of its name wins
    written(tmp_path / "site" / "their_methods", PLAIN, "flow.py")
    written(tmp_path, "", "their_methods.py")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    assert Methods({"flow": CodePlace("their_methods.flow", "graph")})["flow"].name == "flow"


def test_a_named_file_wins_over_an_installed_method_that_is_not_in_use(tmp_path: Path) -> None:
    installed = CodePlace("not_to_be_loaded", "graph")
    place = CodePlace(written(tmp_path, NATIVE), "graph")
    methods = Methods({"short_way": installed})
    assert methods.add(place) is methods["short_way"]
    assert methods.external() == [str(place)]
    (tmp_path / "another").mkdir()
    with pytest.raises(SettingsError, match=r"another/mine\.py:graph: a method named 'short_way' already exists \("):
        methods.add(CodePlace(written(tmp_path / "another", NATIVE), "graph"))


def test_a_baseline_is_imported_from_its_own_package() -> None:
    with pytest.raises(ImportError, match=r"react is a baseline: from hopgraph\.graphs\.baselines import react"):
        from hopgraph.graphs import react  # noqa: F401 # pyright: ignore[reportAttributeAccessIssue,reportUnknownVariableType,reportUnusedImport]
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        from hopgraph.graphs import nonsense  # noqa: F401 # pyright: ignore[reportAttributeAccessIssue,reportUnknownVariableType,reportUnusedImport]


def test_a_package_that_cannot_be_loaded_stops_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    METHODS.__dict__["_places"]["broken"] = CodePlace("no_such_module", "graph")
    assert "broken" in METHODS
    assert "broken" not in list_methods()
    assert "skipping method 'broken': no_such_module cannot be loaded" in caplog.text


def test_any_graph_takes_a_question_and_gives_an_answer(tmp_path: Path) -> None:
    place = written(tmp_path, PLAIN)
    found = answer(place, tone="rude")
    assert found["answer"] == "rude answer to Who? x2"
    assert (found["explanation"], found["citations"], found["passages"]) == ("", [], [])
    assert (found["stop_reason"], found["usage"]["llm_calls"]) == ("answered", 0)
    with pytest.raises(SettingsError, match="setting 'times'"):
        answer(place, times="many")


def test_settings_that_its_graph_does_not_read_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = written(tmp_path, PLAIN)
    monkeypatch.setenv("HOPGRAPH_MODEL", "no-such:model")
    monkeypatch.setenv("HOPGRAPH_PROMPTS_DIR", "/nowhere")
    monkeypatch.setenv("HOPGRAPH_TONE", "rude")
    assert answer(place)["answer"] == "rude answer to Who? x2"
    assert find_method(place).graph.get_name() == "mine"


def test_a_file_without_its_ending_is_recognized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, PLAIN)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"method 'mine' is unknown; did you mean the file mine\.py\?"):
        find_method("mine")


def test_what_a_graph_of_others_finds_is_kept(tmp_path: Path) -> None:
    found = answer(written(tmp_path, PLAIN) + ":rich")
    assert [(each["title"], each["text"]) for each in found["passages"]] == [("T", "A text.")]
    assert [each["quote"] for each in found["citations"]] == ["A text."]
    assert found["usage"]["llm_calls"] == 1
    assert found["usage"]["completion_tokens"] == 3


def test_a_graph_of_others_asks_its_caller_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    method = find_method(written(tmp_path, ASKING))
    graph = method.build().compile(checkpointer=InMemorySaver())
    thread: RunnableConfig = {"configurable": {"thread_id": "1"}}
    graph.invoke({"question": "Who?"}, thread)
    (pause,) = graph.get_state(thread).interrupts
    assert pause.value == {"which": "one or two?"}
    resume: Command[Any] = Command(resume={pause.id: "two"})
    found = graph.invoke(resume, thread)
    assert (found["answer"], found["stop_reason"]) == ("two", "answered")
    with pytest.raises(SettingsError, match="method 'mine' pauses the run and needs a checkpointer"):
        method.graph.invoke({"question": "Who?"})


@pytest.mark.parametrize(
    ("name", "settings", "stopped", "calls"),
    [
        ("calls", {"max_llm_calls": 2}, "budget", 2),
        ("calls", {"max_tokens": 25}, "budget", 3),
        ("calls", {"max_llm_calls": 5}, "answered", 5),
        ("slow", {"deadline_seconds": 0.2}, "budget", 0),
    ],
)
def test_budgets_bound_a_graph_of_others(
    tmp_path: Path, name: str, settings: dict[str, Any], stopped: str, calls: int
) -> None:
    found = answer(written(tmp_path, ASKING) + f":{name}", **settings)
    assert (found["stop_reason"], found["usage"]["llm_calls"]) == (stopped, calls)
    assert found["answer"] == ("five calls" if stopped == "answered" else "")


def test_events_of_others_become_steps(tmp_path: Path) -> None:
    graph = find_method(written(tmp_path, PLAIN)).graph
    stream: Any = graph.stream({"question": "Who?"}, stream_mode="custom", subgraphs=True)
    events = [chunk for _, chunk in stream]
    assert [(each["event"], each["node"]) for each in events] == [
        ("thinking", "run_graph"),
        ("custom", "run_graph"),
        ("answered", "run_graph"),
    ]
    assert events[0]["data"]["how"][0] == 1
    assert events[1]["data"] == {"value": "plain words"}


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("mine.py:nope", PLAIN, "has no 'nope'"),
        ("mine.py:S", PLAIN, "is a _TypedDictMeta, not a compiled LangGraph graph"),
        ("mine.py:messages", PLAIN, "takes no `question`; its graph takes messages"),
        ("mine.py:bad", PLAIN, "the output of its graph cannot be used: passages"),
        ("gone.py", "", "gone.py: there is no such file"),
        ("mine.py", "import no_such_thing", r"mine.py, line 1: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("mine.py", "x = (\n1 +\n", "mine.py, line 1: SyntaxError"),
        ("mine.py", NATIVE.replace('"short_way"', '"migres"'), "a method named 'migres' already exists"),
        ("mine.py", NATIVE.replace('"short_way"', '"auto"'), "invalid method name 'auto'"),
        ("Mein Weg.py", "", "has no 'graph'"),
        ("quartz", "", "method 'quartz' is unknown; available: migres"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, told: str
) -> None:
    if not name.startswith("gone"):
        written(tmp_path, code, name.partition(":")[0])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=told) as raised:
        answer(name)
    assert "\n" not in str(raised.value)


def test_what_a_file_imports_lies_beside_it(tmp_path: Path) -> None:
    written(tmp_path, "WORD = 'mild'", "beside_mine.py")
    method = find_method(written(tmp_path, f"from beside_mine import WORD\n{PLAIN}"))
    assert method.name == "mine"


VERIFY = "variables: question, passages\n--- instructions\nAnswer MINE.\n--- input\n{{passages}}\n\n{{question}}\n"


def test_prompts_beside_the_file_are_found_and_prompts_dir_overlays_them(tmp_path: Path) -> None:
    settings = find_method(written(tmp_path, NATIVE)).Context
    assert settings().prompt_folders == ()
    other = tmp_path / "with_prompts"
    (other / "prompts" / "shorter_way").mkdir(parents=True)
    code = NATIVE.replace("short_way", "shorter_way").replace('("answer",)', '("answer", "verify")')
    own = find_method(written(other, code)).Context
    (other / "prompts" / "shorter_way" / "verify.md").write_text(VERIFY, "utf-8")
    assert own().prompt_folders == (str(other / "prompts"),)
    assert read_prompt("shorter_way/verify", own().prompt_folders).instructions.startswith("Answer MINE.")
    assert read_prompt("shorter_way/answer", own().prompt_folders).source == str(prompts_root() / "common/answer.md")
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "verify.md").write_text(VERIFY.replace("MINE", "OVER"), "utf-8")
    overlaid = own(prompts_dir=str(tmp_path)).prompt_folders
    assert read_prompt("shorter_way/verify", overlaid).instructions.startswith("Answer OVER.")
    assert [name for name, _ in list_prompt_files("shorter_way", own.steps, own().prompt_folders)][-1] == (
        "shorter_way/verify.md"
    )


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("", "", "no prompt for role 'short_way/verify'"),
        ("verfy.md", VERIFY, "verfy.md: no step reads a file of this name; did you mean 'verify.md'"),
        ("verify.md", VERIFY.replace("{{question}}", "{{q}}"), "verify.md: variable 'q' is used but not declared"),
    ],
)
def test_own_prompts_are_checked_before_a_model_is_asked(tmp_path: Path, name: str, text: str, told: str) -> None:
    (tmp_path / "prompts" / "short_way").mkdir(parents=True)
    if name:
        (tmp_path / "prompts" / "short_way" / name).write_text(text, "utf-8")
    place = written(tmp_path, NATIVE.replace('("answer",)', '("answer", "verify")'))
    with pytest.raises(HopgraphError, match=told):
        answer(place, model=ScriptedChatModel(replies=[]))
