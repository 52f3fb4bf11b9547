"""Prompts as settings, which LangGraph Studio edits on the nodes that ask with them."""

from functools import cache
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from hopgraph.graphs import METHODS, chat, migres
from hopgraph.state import Context, PromptError, SettingsError
from hopgraph.state.context import PROMPT, make_settings
from hopgraph.state.environment import parse_setting, resolve_settings
from hopgraph.tools.apps.evaluation.batch.run_directory import frozen_settings, prompt_hashes
from hopgraph.tools.prompts import prompts_root
from support.every_method import NAMES, baselines_slow
from support.honest import input_for, model
from support.walks import walk

THREAD: Any = {"configurable": {"thread_id": "1"}}
OWN = "Say whether this is enough; be strict. Reply with JSON."


@cache
def fields_of(cls: type[Context]) -> dict[str, dict[str, Any]]:
    """Return the schema of each step's prompt."""
    every: dict[str, dict[str, Any]] = cls.model_json_schema()["properties"]
    return {name.removeprefix(PROMPT): field for name, field in every.items() if name.startswith(PROMPT)}


def with_prompt(text: str, step: str = "decide", **settings: Any) -> migres.Context:
    return make_settings(migres.Context, {f"{PROMPT}{step}": text, **settings})


@pytest.mark.parametrize("name", [*NAMES, "chat"])
def test_each_step_has_a_prompt_field_on_nodes_of_the_graph(name: str) -> None:
    module: Any = chat if name == "chat" else METHODS[name]
    fields = fields_of(module.Context)
    assert fields.keys() == set(module.Context.all_steps())
    for field in fields.values():
        assert field["langgraph_type"] == "prompt"
        assert field["default"] == ""
    named = {node for field in fields.values() for node in field["langgraph_nodes"]}
    assert named <= module.graph.nodes.keys()


@pytest.mark.parametrize("name", baselines_slow(among=sorted({*NAMES} - {"skr_knn", "adaptive_rag", "cascade"})))
@pytest.mark.parametrize("more", [{}, {"answer_type": "sentence", "abstain": False}])
def test_studio_shows_a_prompt_on_the_nodes_that_ask_with_it(name: str, more: dict[str, Any]) -> None:
    module: Any = METHODS[name]
    ran = walk(module.graph, input_for(name), module.Context(model=model(), **more))
    fields = fields_of(module.Context)
    for event in ran.events:
        if event["event"] == "asked":
            node = str(event["path"]).partition("|")[0].partition("/")[0]
            assert node in fields[str(event["data"]["role"]).partition("/")[2]]["langgraph_nodes"]


@pytest.mark.parametrize("whole", [False, True])
def test_a_prompt_of_the_settings_stands_for_the_file(whole: bool) -> None:
    text = (prompts_root() / "common" / "decide.md").read_text()
    said = text.replace("Decide whether", "SAY WHETHER").replace("\n", "\r\n") if whole else OWN
    asked, plain = model(), model()
    migres.graph.invoke(input_for("migres"), context=with_prompt(said, model=asked))
    migres.graph.invoke(input_for("migres"), context=migres.Context(model=plain))
    ours, before = (next(c.messages for c in each.calls if c.role == "migres/decide") for each in (asked, plain))
    assert ours[0].text.startswith("Role: migres/decide\n\n" + ("SAY WHETHER" if whole else OWN))
    assert ours[-1].text == before[-1].text  # the input is the file's
    others = [
        [(c.role, c.messages[0].text) for c in each.calls if c.role != "migres/decide"] for each in (asked, plain)
    ]
    assert others[0] == others[1]


@pytest.mark.parametrize(
    ("step", "text", "problem"),
    [
        ("decide", "Read {{passage}}.", "variable 'passage' is unknown; this step has: answer_type, information"),
        ("decide", "{{#passage}}x{{/passage}}", "'passage'"),
        ("generate_queries", "Write one query.", "variable 'max_queries' is missing"),
        ("decide", "variables: information\n--- instructions\nSay.\n--- input\n{{information}}", "missing"),
        ("decide", "variables: information\nSay.", "expected 'variables:'"),
    ],
)
def test_one_that_does_not_fit_is_refused_before_the_first_call(step: str, text: str, problem: str) -> None:
    asked = model()
    with pytest.raises(PromptError, match=f"migres/{step}") as refused:
        migres.graph.invoke(input_for("migres"), context=with_prompt(text, step, model=asked))
    assert problem in str(refused.value)
    assert asked.calls == []


def test_a_step_that_the_method_does_not_have_is_refused() -> None:
    class Fewer(migres.Context):
        """MIGRES without its last decision."""

        steps = migres.Context.steps[:-1]

    with pytest.raises(SettingsError, match="prompt_decision"):
        make_settings(migres.Context, {"prompt_decision": OWN})
    graph = migres.build().compile()
    dropped = f"{PROMPT}{migres.Context.steps[-1]}"
    assert dropped in Fewer.model_fields
    with pytest.raises(SettingsError, match=dropped):
        graph.invoke(input_for("migres"), context=make_settings(Fewer, {dropped: OWN, "model": model()}))


def test_a_run_is_not_resumed_with_another_prompt() -> None:
    graph = migres.build().compile(checkpointer=InMemorySaver())
    graph.invoke(input_for("migres"), THREAD, context=with_prompt(OWN, model=model()), interrupt_before=["decide"])
    with pytest.raises(SettingsError, match="prompt_decide") as refused:
        graph.invoke(None, THREAD, context=with_prompt("x" * 5000, model=model()))
    assert len(str(refused.value)) < 700
    assert graph.invoke(None, THREAD, context=with_prompt(OWN, model=model()))["answer"]


def test_a_reply_that_was_kept_for_one_prompt_is_not_given_for_another(tmp_path: Any) -> None:
    counts: list[int] = []
    for text in ("", "", OWN):
        asked = model()
        migres.graph.invoke(input_for("migres"), context=with_prompt(text, model=asked, cache_dir=str(tmp_path)))
        counts.append(len([each for each in asked.calls if each.role == "migres/decide"]))
    assert counts[0] == counts[2] > counts[1] == 0


def test_an_evaluation_tells_prompts_apart_by_their_hashes_alone() -> None:
    plain, ours = migres.Context(), with_prompt(OWN)
    assert frozen_settings(plain) == frozen_settings(ours)
    different = {step for step, value in prompt_hashes(ours).items() if prompt_hashes(plain)[step] != value}
    assert different == {"decide"}


def test_it_comes_from_the_environment_and_the_command_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse_setting(migres.Context, "prompt_decide", OWN) == OWN
    monkeypatch.setenv("HOPGRAPH_PROMPT_DECIDE", OWN)
    assert resolve_settings(None, migres.Context).prompt_of("decide") == OWN
    assert with_prompt(" \n ").prompt_of("decide") == ""
