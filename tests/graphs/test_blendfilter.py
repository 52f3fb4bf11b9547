"""BlendFilter end to end: a scripted model, three branches, every edge of the figure."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult

from hopgraph.graphs import blendfilter
from hopgraph.state import SettingsError
from support.blendfilter_script import (
    A_EX,
    A_IN,
    LIMIT,
    QUESTION,
    block,
    fixed,
    replies,
    titles,
)
from support.fake_clock import FakeClock
from support.servers.scripted_model import ScriptedChatModel, WavesChatModel
from support.walks import Script, drawn_edges, walk


def run(script: Script, **more: Any) -> Any:
    given: dict[str, Any] = {"model": script.model(), "retriever": fixed(), **more}
    return blendfilter.graph.invoke({"question": QUESTION}, context=blendfilter.Context(**given))


def prompts_of(script: Script, step: str) -> list[str]:
    return [prompt for each, prompt in zip(script.steps, script.prompts, strict=True) if each == step]


def queries_of(events: Sequence[Mapping[str, Any]]) -> list[str]:
    return [event["data"]["query"] for event in events if event["event"] == "query"]


def test_three_branches_as_in_the_figure() -> None:
    script = Script(replies())
    walked = walk(
        blendfilter.graph, {"question": QUESTION}, blendfilter.Context(model=script.model(), retriever=fixed())
    )
    result = walked.result
    assert sorted(script.steps[:3]) == ["name_topic", "reason", "write_passage"]
    # Within the branches nothing waits for another one.
    assert sorted(script.steps[3:-2]) == [*["judge_passages"] * 3, *["select_passages"] * 3]
    assert script.steps[-2:] == ["answer_step_by_step", "shorten"]
    assert result["usage"]["llm_calls"] == LIMIT
    assert result["usage"]["retrievals"] == 3
    assert queries_of(walked.events) == [QUESTION, f"{A_EX} {QUESTION}", f"{A_IN} {QUESTION}"]
    assert (result["answer"], result["sampled"], result["stop_reason"]) == ("Tallinn", ["Tallinn"], "answered")
    assert [(each["passage_id"], each["quote"], each["kind"]) for each in result["citations"]] == [
        ("person", "She was born in Tallinn.", "passage")
    ]
    assert [passage["id"] for passage in result["passages"]] == ["person", "film", "noise", "town"]
    assert [each["excerpts"][0]["passage_id"] for each in walked.state["knowledge"]] == ["film"]
    assert walked.state["topic"] == "film directors"


def test_each_filter_sees_its_own_passages_and_the_answer_their_union() -> None:
    script = Script(replies())
    run(script)
    weighed = [titles(prompt) for prompt in prompts_of(script, "judge_passages")]
    assert sorted(weighed) == [["Ada Brink", "Tallinn"], ["Night Harbour", "Ada Brink"], ["Night Harbour", "Harbour"]]
    assert {block("topic", prompt) for prompt in prompts_of(script, "judge_passages")} == {"film directors"}
    for prompt in prompts_of(script, "select_passages"):
        assert block("judgement", prompt) == f"Of {titles(prompt)} some help."
    [first], [last] = prompts_of(script, "reason"), prompts_of(script, "answer_step_by_step")
    assert titles(first) == ["Night Harbour", "Harbour"]
    assert titles(last) == ["Night Harbour", "Ada Brink"]
    assert "born in Tallinn. The answer is: the town of Tallinn" in prompts_of(script, "shorten")[0]


def test_yes_no_has_no_topic_and_ten_calls() -> None:
    script = Script(replies(shorten=lambda _: '{"answer": "Yes, it was."}'))
    result = run(script, answer_type="yes_no")
    assert result["usage"]["llm_calls"] == LIMIT - 1
    assert "name_topic" not in script.steps
    assert result["answer"] == "yes"
    assert all(block("answer_type", prompt) == "yes_no" for prompt in prompts_of(script, "judge_passages"))


@pytest.mark.parametrize(
    ("switch", "calls", "shown", "searched"),
    [
        ({"original_query": False}, 9, ["Ada Brink", "Night Harbour"], 3),
        ({"external_query": False}, 8, ["Night Harbour", "Ada Brink"], 2),
        ({"internal_query": False}, 8, ["Night Harbour", "Ada Brink"], 2),
        ({"filtering": "union"}, 7, ["Night Harbour", "Ada Brink"], 3),
        ({"filtering": "none"}, 4, ["Night Harbour", "Harbour", "Ada Brink", "Tallinn"], 3),
        ({"top_k": 1}, 11, ["Night Harbour", "Ada Brink"], 3),
    ],
    ids=["w/o q", "w/o q_ex", "w/o q_in", "union before filter", "no filter", "K = 1"],
)
def test_switches(switch: dict[str, Any], calls: int, shown: list[str], searched: int) -> None:
    script = Script(replies())
    result = run(script, **switch)
    assert result["usage"]["llm_calls"] == calls
    assert result["usage"]["retrievals"] == searched
    assert titles(prompts_of(script, "answer_step_by_step")[-1]) == shown
    assert result["answer"] == "Tallinn"


def test_the_question_alone_is_a_plain_reader_without_a_filter() -> None:
    script = Script(replies())
    run(script, external_query=False, internal_query=False, filtering="none")
    assert script.steps == ["answer_step_by_step", "shorten"]


def test_some_query_must_be_left() -> None:
    with pytest.raises(SettingsError, match=r"internal_query.*must stay on"):
        blendfilter.Context.preset("multi_hop", original_query=False, external_query=False, internal_query=False)


def test_an_answer_without_any_knowledge_is_cited_as_the_models_own() -> None:
    def own(prompt: str) -> str:
        return json.dumps({"reasoning": "Ada Brink was from Tallinn.", "answer": "Tallinn", "used_passages": [1]})

    script = Script(replies(select_passages=lambda _: '{"relevant": []}', answer_step_by_step=own))
    result = run(script)
    assert "<passages>" not in prompts_of(script, "answer_step_by_step")[-1]
    assert [(each["passage_id"], each["kind"], each["quote"]) for each in result["citations"]] == [
        ("model:1.1", "model", "Ada Brink was from Tallinn.")
    ]
    assert all(passage["source"] != "model" for passage in result["passages"])


@pytest.mark.parametrize("abstain", [True, False])
def test_the_chain_that_is_searched_for_has_an_instruction_of_its_own_and_no_sentence_on_what_is_not_known(
    abstain: bool,
) -> None:
    named = "Ada Brink directed it. The birthplace of Ada Brink."
    said = f"{named} The passages do not say where she was born. I don't know her birthplace."
    script = Script(
        replies(
            reason=lambda _: json.dumps({"reasoning": said, "answer": "unanswerable"}),
            write_passage=lambda _: json.dumps({"passage": "She was from Riga. I am not sure of the year."}),
        )
    )
    model = script.model()
    context = blendfilter.Context(model=model, retriever=fixed(), abstain=abstain)
    ran = walk(blendfilter.graph, {"question": QUESTION}, context)
    searched = [QUESTION, f"{named} {QUESTION}", f"She was from Riga. {QUESTION}"]
    assert queries_of(ran.events) == searched
    [instructions] = [call.messages[0].text for call in model.calls if call.role == "blendfilter/reason"]
    assert ("could only guess" in instructions) == abstain != ("always give an answer" in instructions)


@pytest.mark.parametrize("abstain", [True, False])
def test_the_reader_fills_gaps_and_what_rests_on_no_passage_is_cited_as_its_own(abstain: bool) -> None:
    said = json.dumps({"reasoning": "Her home was Tallinn.", "answer": "Tallinn", "used_passages": []})
    script = Script(replies(answer_step_by_step=lambda _: said))
    model = script.model()
    result = run(script, model=model, abstain=abstain)
    assert [(each["kind"], each["quote"]) for each in result["citations"]] == [("model", "Her home was Tallinn.")]
    [instructions] = [call.messages[0].text for call in model.calls if call.role == "blendfilter/answer_step_by_step"]
    assert "fill gaps" in instructions
    assert ("unanswerable" in instructions) == abstain


def test_an_unusable_last_chain_leaves_the_one_before() -> None:
    script = Script(replies(answer_step_by_step=lambda _: "what?", shorten=lambda _: '{"answer": "Reval"}'))
    script.replies["reason"] = lambda _: json.dumps({"reasoning": "So.", "answer": "in Reval", "used_passages": [1]})
    result = run(script, parse_retries=0)
    assert (result["answer"], result["stop_reason"]) == ("Reval", "answered")
    assert [each["passage_id"] for each in result["citations"]] == ["film"]


def test_a_model_that_knows_nothing_has_no_third_branch() -> None:
    script = Script(replies(write_passage=lambda _: '{"passage": "I don\'t know."}'))
    result = run(script)
    assert script.steps.count("judge_passages") == 2
    assert result["usage"]["retrievals"] == 2


def test_samples_differ_in_how_they_are_drawn_and_the_majority_is_the_answer() -> None:
    drawn: list[dict[str, Any]] = []
    shorts = iter(["Riga", "tallinn", "Tallinn."])
    script = Script(replies(shorten=lambda _: json.dumps({"answer": next(shorts)})))

    class Sampling(ScriptedChatModel):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            drawn.append({key: value for key, value in kwargs.items() if key in {"top_p", "temperature"}})
            return await super()._agenerate(messages, *args, **kwargs)

    result = run(script, model=Sampling(replies=script), sample_top_p=(0, 0.5, 1))
    assert drawn[-6:] == [
        {"temperature": 0.0},
        {"temperature": 1.0, "top_p": 0.5},
        {"temperature": 1.0, "top_p": 1.0},
        {},
        {},
        {},
    ]
    assert not any(drawn[:-6])
    assert (result["answer"], result["sampled"]) == ("tallinn", ["Riga", "tallinn", "Tallinn."])
    assert result["usage"]["llm_calls"] == LIMIT + 4


def test_samples_are_kept_apart_in_the_cache(tmp_path: Path) -> None:
    shorts = iter(["one", "two"])
    kept: list[str] | None = None
    for calls in (LIMIT + 2, 0):
        script = Script(replies(shorten=lambda _: json.dumps({"answer": next(shorts)})))
        result = run(script, sample_top_p=(0, 1), cache_dir=str(tmp_path))
        # Which of the two is asked first is up to the threads that look into the cache.
        assert sorted(result["sampled"]) == ["one", "two"]
        assert kept in (None, result["sampled"])
        assert len(script.steps) == calls
        kept = result["sampled"]


def test_the_presets_have_three_demonstrations_for_the_chains_of_thought_alone() -> None:
    seen: dict[str, set[int]] = {}
    script = Script(replies(shorten=lambda _: '{"answer": "yes"}'))

    def reply(role: str, messages: list[BaseMessage]) -> str:
        seen.setdefault(role.split("/")[1], set()).add(len(messages))
        return script(role, messages)

    for family in ("multi_hop", "yes_no"):
        settings = blendfilter.Context.preset(family, model=ScriptedChatModel(replies=reply), retriever=fixed())
        blendfilter.graph.invoke({"question": QUESTION}, context=settings)
    assert [seen.pop(step) for step in ("reason", "answer_step_by_step")] == [{2 + 2 * 3}] * 2
    assert set.union(*seen.values()) == {2}


ROLES = ("reason", "answer_step_by_step", "write_passage", "name_topic", "judge_passages", "select_passages", "shorten")


def test_nothing_usable_at_all_is_unanswerable() -> None:
    script = Script(dict.fromkeys(ROLES, lambda _: "what?"))
    result = run(script, parse_retries=0)
    assert (result["answer"], result["citations"], result["stop_reason"]) == ("", [], "unanswerable")
    assert script.steps.count("judge_passages") == 1  # all three queries are the question itself


def test_a_filter_that_cannot_be_read_keeps_everything() -> None:
    script = Script(replies(judge_passages=lambda _: "?", select_passages=lambda _: "?"))
    run(script, parse_retries=0)
    shown = titles(prompts_of(script, "answer_step_by_step")[-1])
    assert shown == ["Night Harbour", "Harbour", "Ada Brink", "Tallinn"]


@pytest.mark.parametrize("limit", range(1, 3 * LIMIT, 4))
def test_re_asks_stay_within_the_budget_too(limit: int) -> None:
    script = Script(dict.fromkeys(ROLES, lambda _: "what?"))
    result = run(script, max_llm_calls=limit)
    assert len(script.steps) == result["usage"]["llm_calls"] <= limit


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        (3, {"reason": 1, "answer_step_by_step": 1, "shorten": 1}),
        (4, {"reason": 1, "answer_step_by_step": 1, "write_passage": 1, "shorten": 1}),
        (
            7,
            {
                "reason": 1,
                "answer_step_by_step": 1,
                "write_passage": 1,
                "name_topic": 1,
                "judge_passages": 1,
                "select_passages": 1,
                "shorten": 1,
            },
        ),
    ],
)
def test_a_small_budget_goes_to_the_queries_then_to_filters(limit: int, steps: dict[str, int]) -> None:
    script = Script(replies())
    run(script, max_llm_calls=limit)
    assert {step: script.steps.count(step) for step in set(script.steps)} == steps


def test_when_tokens_run_out_what_was_reasoned_before_is_the_answer() -> None:
    def first(prompt: str) -> str:
        return json.dumps({"reasoning": "It says so.", "answer": "Reval", "used_passages": [1]})

    script = Script(replies(reason=first, judge_passages=lambda _: '{"judgement": "%s"}' % ("w " * 9000)))
    result = run(script, max_tokens=8000)
    assert "answer_step_by_step" not in script.steps
    assert (result["answer"], result["stop_reason"]) == ("Reval", "budget")
    assert [each["passage_id"] for each in result["citations"]] == ["film"]


@pytest.mark.parametrize("slow", ["write_passage", "select_passages"])
def test_a_deadline_that_one_step_would_take_whole_leaves_time_for_the_answer(slow: str, clock: FakeClock) -> None:
    script = Script(replies())
    model = script.model(latency=lambda role: clock.run_out() if role.endswith(slow) else 0)
    result = run(script, model=model, deadline_seconds=5)
    assert (result["answer"], result["stop_reason"]) == ("Tallinn", "budget")
    assert script.steps[-2:] == ["answer_step_by_step", "shorten"]


def test_a_deadline_ends_a_run_with_what_is_there(clock: FakeClock) -> None:
    script = Script(replies(reason=lambda _: '{"answer": "Reval", "used_passages": [1]}'))
    slow = script.model(latency=lambda _: clock.run_out() if "answer_step_by_step" in script.steps else 0)
    result = run(script, model=slow, deadline_seconds=1.5)
    assert (result["answer"], result["stop_reason"]) == ("Reval", "budget")


def test_the_longest_chain_is_five_calls() -> None:
    script = Script(replies())
    waves = [3, 3, 3, 1, 1]
    run(script, model=WavesChatModel(replies=script, waves=waves))
    assert len(script.steps) == sum(waves)


def test_every_edge_of_the_drawing_is_walked() -> None:
    scenarios: list[dict[str, Any]] = [
        {},
        {"filtering": "union"},
        {"filtering": "none", "external_query": False, "internal_query": False},
    ]
    walked = {
        edge
        for more in scenarios
        for edge in walk(
            blendfilter.graph,
            {"question": QUESTION},
            blendfilter.Context(model=Script(replies()).model(), retriever=fixed(), **more),
        ).edges
    }
    assert walked == drawn_edges(blendfilter.graph)
