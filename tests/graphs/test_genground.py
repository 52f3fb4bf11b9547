"""GenGround end to end: a scripted model, every edge of the figure, every switch, malformed replies, budgets."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from hopgraph.graphs import genground
from hopgraph.tools.prompts import FAMILIES, read_demonstrations
from support.fake_clock import FakeClock
from support.servers.scripted_model import ScriptedChatModel, WavesChatModel
from support.walks import FixedRetriever, Script, Walk, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
DIRECTED, BORN = "Who directed the film Night Harbour?", "Where was Ada Brink born?"
FILM = ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink. It is set in a port.")
PERSON = ("Ada Brink", "Ada Brink was a director. She was born in Tallinn. She liked ships.")
NOISE = {f"noise{number}": (f"Thing {number}", f"Thing number {number} is a thing.") for number in range(1, 10)}
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    "directed": {"noise1": NOISE["noise1"], "film": FILM, "noise2": NOISE["noise2"]},
    "Ada Brink": {**{key: NOISE[key] for key in ("noise1", "noise2", "noise3", "noise4")}, "person": PERSON},
    "Nowhere": {},
    "": NOISE,
}
EMPTY = json.dumps({"ref": "Empty", "revise": ""})


def ask_for(question: str, answer: str = "") -> str:
    return json.dumps({"sub_question": question, "answer": answer, "final_answer": ""})


def end_with(answer: str) -> str:
    return json.dumps({"sub_question": "", "answer": "", "final_answer": answer})


def cite(ref: str, revise: str) -> str:
    return json.dumps({"ref": ref, "revise": revise})


def answer(text: str, used: Sequence[int] = ()) -> str:
    return json.dumps({"answer": text, "used_passages": list(used)})


BRINK = cite("Night Harbour was directed by Ada Brink.", "Ada Brink")
TALLINN = cite("Ada Brink was born in Tallinn.", "Tallinn")


def go(replies: Mapping[str, Any], question: str = QUESTION, **more: Any) -> tuple[Walk, Script]:
    script = Script(replies)
    given: dict[str, Any] = {"model": script.model(), "retriever": FixedRetriever(found=FOUND), **more}
    return walk(genground.graph, {"question": question}, genground.Context(**given)), script


def two_hops() -> dict[str, Any]:
    return {
        "deduce": [ask_for(DIRECTED, "Carl Moon"), ask_for(BORN, "Riga"), end_with("Tallinn")],
        "ground": [BRINK, EMPTY, TALLINN],
    }


def titles(prompt: str) -> list[str]:
    return re.findall(r'<passage id="\d+" title="([^"]*)">', prompt)


def events(run: Walk, kind: str) -> list[dict[str, Any]]:
    return [dict(event["data"]) for event in run.events if event["event"] == kind]


def test_two_hops_as_in_the_figure() -> None:
    run, script = go(two_hops())
    assert script.steps == ["deduce", "ground", "deduce", "ground", "ground", "deduce"]
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "answered")
    assert [each["query"] for each in events(run, "query")] == [DIRECTED, BORN]
    assert [titles(prompt) for step, prompt in zip(script.steps, script.prompts, strict=True) if step == "ground"] == [
        ["Thing 1", "Night Harbour", "Thing 2"],
        ["Thing 1", "Thing 2", "Thing 3"],
        ["Thing 4", "Ada Brink"],
    ]
    assert [(each["passage_id"], each["quote"], each["kind"]) for each in run.result["citations"]] == [
        ("film", "It was directed by Ada Brink.", "passage"),
        ("person", "She was born in Tallinn.", "passage"),
    ]
    assert [passage["id"] for passage in run.result["passages"]][:2] == ["film", "person"]
    assert run.result["explanation"] == f"{DIRECTED} Ada Brink; {BORN} Tallinn"
    assert [(hop["generated"], hop["answer"], hop["grounded"]) for hop in run.state["hops"]] == [
        ("Carl Moon", "Ada Brink", True),
        ("Riga", "Tallinn", True),
    ]
    usage = run.result["usage"]
    assert (usage["llm_calls"], usage["retrievals"], usage["iterations"], usage["passages"]) == (6, 2, 2, 8)


def test_later_hops_see_the_revised_answers_with_their_sources() -> None:
    _, script = go(two_hops())
    history = script.prompts[-1].split("</history>")[0]
    assert f"{DIRECTED} Ada Brink (source: It was directed by Ada Brink.)" in history
    assert "Carl Moon" not in history
    assert "Riga" in script.prompts[3].split("<generated_answer>")[1]


@pytest.mark.parametrize("batches", [1, 2, 3, 4])
def test_one_call_for_each_batch_that_is_read(batches: int) -> None:
    replies = {
        "deduce": [ask_for("Anything?", "x"), end_with("x")],
        "ground": [EMPTY] * (batches - 1) + [cite("Thing number", "y")],
    }
    found = {f"p{n}": (f"T{n}", f"Thing number {n} is a thing.") for n in range(1, 13)}
    run, script = go(replies, retriever=FixedRetriever(found={"": found}))
    assert run.result["usage"]["llm_calls"] == 2 + batches
    assert script.replies == {"deduce": [], "ground": []}
    shown = [len(titles(prompt)) for prompt in script.prompts[1:-1]]
    assert shown == [3, 3, 3, 1][:batches]


def test_an_answer_that_nothing_grounds_stands_and_is_marked() -> None:
    replies = {"deduce": [ask_for(DIRECTED, "Carl Moon"), end_with("Carl Moon")], "ground": [EMPTY]}
    run, _ = go(replies)
    assert [(hop["answer"], hop["grounded"]) for hop in run.state["hops"]] == [("Carl Moon", False)]
    assert events(run, "revised")[0]["grounded"] is False
    assert run.result["explanation"] == f"{DIRECTED} Carl Moon (not grounded)"
    assert [(each["passage_id"], each["kind"], each["quote"]) for each in run.result["citations"]] == [
        ("model:1", "model", "Carl Moon")
    ]
    assert all(passage["source"] != "model" for passage in run.result["passages"])


def test_without_an_immediate_answer_and_a_citation_the_hop_is_unknown() -> None:
    replies = {"deduce": [ask_for(DIRECTED, "I don't know."), end_with("unanswerable")], "ground": [EMPTY]}
    run, script = go(replies)
    assert f"{DIRECTED} unknown" in script.prompts[-1]
    assert (run.result["answer"], run.result["stop_reason"], run.result["citations"]) == ("", "unanswerable", [])


def test_a_search_that_finds_nothing_costs_no_grounding() -> None:
    run, script = go({"deduce": [ask_for("Nowhere?", "x"), end_with("x")]})
    assert script.steps == ["deduce", "deduce"]
    assert run.state["hops"][0]["grounded"] is False


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_the_hop_limit_ends_in_a_best_effort_answer(limit: int) -> None:
    numbers = iter(range(100))
    replies = {
        "deduce": lambda _: ask_for(f"Thing number {next(numbers)}?", "x"),
        "ground": lambda _: cite("Thing number 1 is a thing.", "Tallinn"),
        "answer": [answer("Tallinn")],
    }
    run, script = go(replies, max_hops=limit)
    assert script.steps == ["deduce", "ground"] * limit + ["deduce", "answer"]
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "max_iterations")
    assert run.result["usage"]["iterations"] == len(run.state["hops"]) == limit
    assert script.prompts[-1].count("<item") == limit
    assert [each["passage_id"] for each in run.result["citations"]] == ["noise1"]


def test_a_question_that_is_asked_again_ends_the_hops() -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "x"), ask_for(DIRECTED.upper().strip("?"), "y")],
        "ground": [BRINK],
        "answer": [answer("Ada Brink")],
    }
    run, script = go(replies)
    assert script.steps == ["deduce", "ground", "deduce", "answer"]
    assert (run.result["stop_reason"], run.result["usage"]["iterations"]) == ("answered", 1)


# citations


@pytest.mark.parametrize(
    ("least", "outcome"), [(0.0, "cited"), (0.6, "cited"), (0.7, "not carried"), (1.0, "not carried")]
)
def test_a_citation_that_no_shown_passage_carries_counts_as_empty(least: float, outcome: str) -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "x"), end_with("x")],
        "ground": [cite("It was directed by Brink in Oslo", "Ada Brink"), EMPTY],
    }
    run, _ = go(replies, min_citation_overlap=least)
    assert [each["outcome"] for each in events(run, "grounded")] == [outcome, "empty"][: 1 + (outcome != "cited")]
    assert run.state["hops"][0]["answer"] == ("Ada Brink" if outcome == "cited" else "x")


def test_each_sentence_of_a_citation_may_come_from_another_passage() -> None:
    both = {"directed": {"noise1": NOISE["noise1"], "film": FILM, "person": PERSON}}
    cited = cite("It was directed by Ada Brink. She was born in Tallinn and Ada Brink liked ships.", "Ada Brink")
    replies = {"deduce": [ask_for(DIRECTED, "x"), end_with("Ada Brink")], "ground": [cited]}
    run, script = go(replies, retriever=FixedRetriever(found=both))
    [hop] = run.state["hops"]
    assert (hop["answer"], hop["grounded"], hop["passage_ids"]) == ("Ada Brink", True, ["film", "person"])
    quotes = ["It was directed by Ada Brink.", "She was born in Tallinn."]
    assert hop["quote"] == " ".join(quotes)
    assert f"(source: {hop['quote']})" in script.prompts[-1]
    assert [each["passage_id"] for each in run.result["citations"]] == hop["passage_ids"]
    assert [each["quote"] for each in run.result["citations"]] == quotes


SHIPS = "Brink was a captain of large grey ships."


def test_one_sentence_that_stands_nowhere_is_named_and_the_batch_asked_about_once_more() -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "x"), end_with("Ada Brink")],
        "ground": [cite(f"It was directed by Ada Brink. {SHIPS}", "Brink"), BRINK],
    }
    run, script = go(replies)
    first, second = (prompt for step, prompt in zip(script.steps, script.prompts, strict=True) if step == "ground")
    assert "<not_found>" not in first
    assert second.partition("<not_found>")[2].strip().startswith(f'<item id="1">{SHIPS}</item>')
    assert titles(first) == titles(second)
    assert [(each["batch"], each["outcome"]) for each in events(run, "grounded")] == [(1, "not carried"), (1, "cited")]
    assert (run.state["hops"][0]["answer"], run.state["hops"][0]["grounded"]) == ("Ada Brink", True)


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize(
    ("then", "kept", "grounded"),
    [
        ([cite(SHIPS, "Captain"), EMPTY], "Captain", False),
        ([cite(SHIPS, "Captain"), cite(SHIPS, "Other")], "Captain", False),
        ([EMPTY, EMPTY], "Riga", False),
        ([cite(SHIPS, "Captain"), TALLINN], "Tallinn", True),
    ],
)
def test_what_stands_nowhere_twice_is_kept_as_not_grounded(
    then: list[str], kept: str, grounded: bool, speculative: bool
) -> None:
    first = iter([cite(SHIPS, "Sailor"), then[0]])
    replies = {
        "deduce": [ask_for(BORN, "Riga"), end_with("x")],
        "ground": lambda prompt: next(first) if "Thing 1" in titles(prompt) else then[1],
    }
    run, script = go(replies, speculative_batches=speculative)
    [hop] = run.state["hops"]
    assert (hop["answer"], hop["grounded"]) == (kept, grounded)
    assert run.state["grounding"] is None
    assert (f"{BORN} {kept} (not grounded)" in script.prompts[-1]) is not grounded
    assert script.steps.count("ground") == (4 if speculative else 3)


def test_a_budget_that_forbids_a_second_look_keeps_the_revision_as_not_grounded() -> None:
    replies = {"deduce": [ask_for(DIRECTED, "x")], "ground": [cite(SHIPS, "Captain")], "answer": [answer("Captain")]}
    run, _ = go(replies, max_llm_calls=3, parse_retries=0)
    assert (run.state["hops"][0]["answer"], run.state["hops"][0]["grounded"]) == ("Captain", False)
    assert run.result["stop_reason"] == "budget"


def test_a_citation_needs_a_revised_answer() -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "x"), end_with("x")],
        "ground": [cite("It was directed by Ada Brink.", ""), BRINK],
    }
    run, _ = go(replies)
    assert run.result["usage"]["parse_failures"] == 1
    assert run.state["hops"][0]["answer"] == "Ada Brink"


# switches


def test_all_batches_at_once_give_the_same_with_more_calls() -> None:
    replies = {
        **two_hops(),
        "ground": lambda prompt: {"Ada Brink": TALLINN, "Night Harbour": BRINK}.get(
            next((title for title in titles(prompt) if not title.startswith("Thing")), ""), EMPTY
        ),
    }
    one, _ = go(replies)
    found: dict[str, Any] = {"retriever": FixedRetriever(found={**FOUND, "directed": {"film": FILM, **NOISE}})}
    some, _ = go({**replies, "deduce": two_hops()["deduce"]}, **found)
    every, _ = go({**replies, "deduce": two_hops()["deduce"]}, speculative_batches=True, **found)
    assert every.state["hops"] == some.state["hops"] == one.state["hops"]
    assert every.result["citations"] == some.result["citations"]
    assert (some.result["usage"]["llm_calls"], every.result["usage"]["llm_calls"]) == (6, 9)


@pytest.mark.parametrize("order", [(0.0, 0.03, 0.06), (0.06, 0.03, 0.0), (0.03, 0.06, 0.0)])
def test_the_first_batch_that_cites_wins_whichever_answers_first(order: tuple[float, ...]) -> None:
    found = {f"p{n}": (f"T{n}", f"Thing number {n} is a thing.") for n in range(9)}

    class Slow(ScriptedChatModel):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            first = next(iter(titles(messages[-1].text)), "")
            self.latency = {"T0": order[0], "T3": order[1], "T6": order[2]}.get(first, 0.0)
            return await super()._agenerate(messages, *args, **kwargs)

    def reply(role: str, messages: list[BaseMessage]) -> str:
        prompt = messages[-1].text
        if role == "genground/deduce":
            return ask_for("What?", "x") if "(none)" in prompt.split("</history>")[0] else end_with("done")
        batch = titles(prompt)[0]
        return EMPTY if batch == "T0" else cite(f"Thing number {batch[1]} is a thing.", batch)

    context = genground.Context(
        model=Slow(replies=reply), retriever=FixedRetriever(found={"": found}), speculative_batches=True
    )
    run = walk(genground.graph, {"question": QUESTION}, context)
    assert run.state["hops"][0]["answer"] == "T3"
    assert [each["outcome"] for each in events(run, "grounded")] == ["empty", "cited"]
    asked = [each["role"] for each in events(run, "asked")]
    assert asked == ["genground/deduce", *["genground/ground"] * 3, "genground/deduce"]


def test_without_batches_all_passages_are_shown_at_once() -> None:
    run, script = go({**two_hops(), "ground": [BRINK, TALLINN]}, batches=False)
    assert run.result["usage"]["llm_calls"] == 5
    assert [len(titles(prompt)) for prompt in script.prompts] == [0, 3, 0, 5, 0]


def test_without_deduction_the_whole_question_is_answered_and_grounded() -> None:
    replies = {"answer": [answer("Riga")], "ground": [EMPTY, EMPTY, cite("Thing number 7 is a thing.", "thing")]}
    run, script = go(replies, deduction=False)
    assert script.steps == ["answer", "ground", "ground", "ground"]
    assert [each["query"] for each in events(run, "query")] == [QUESTION]
    assert (run.result["answer"], run.result["stop_reason"]) == ("thing", "answered")
    assert [each["passage_id"] for each in run.result["citations"]] == ["noise7"]


def test_without_deduction_yes_or_no_is_asked_of_the_grounding() -> None:
    replies = {"answer": [answer("no")], "ground": [cite("Thing number 1 is a thing.", "Yes, it is")]}
    run, script = go(replies, deduction=False, answer_type="yes_no")
    assert run.result["answer"] == "yes"
    assert all("yes_no" in prompt for prompt in script.prompts)


def test_without_grounding_each_question_is_answered_from_its_passages() -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "Carl Moon"), ask_for(BORN, "Riga"), end_with("Riga")],
        "answer": [answer("Ada Brink", [2]), answer("unanswerable")],
    }
    run, script = go(replies, grounding=False)
    assert script.steps == ["deduce", "answer", "deduce", "answer", "deduce"]
    assert [(hop["answer"], hop["grounded"]) for hop in run.state["hops"]] == [("Ada Brink", True), ("Riga", False)]
    assert [(each["passage_id"], each["kind"]) for each in run.result["citations"]] == [
        ("film", "passage"),
        ("model:2", "model"),
    ]


def test_sub_questions_of_yes_no_questions_may_have_any_answer() -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "x"), end_with("No, it was not")],
        "answer": [answer("Ada Brink", [2])],
    }
    run, script = go(replies, grounding=False, answer_type="yes_no")
    assert run.result["answer"] == "no"
    assert ["yes_no" in prompt for prompt in script.prompts] == [True, False, True]


# what section 7.2 counts


def test_the_events_tell_whether_answers_got_better_or_worse() -> None:
    replies = {
        "deduce": [ask_for(DIRECTED, "Ada Brink"), ask_for(BORN, "Riga"), ask_for("And?", "right"), end_with("x")],
        "ground": [cite("It was directed by Ada Brink.", "Ada Brink."), EMPTY, TALLINN, cite("Thing number 1", "no")],
    }
    run, _ = go(replies)
    true = {DIRECTED: "Ada Brink", BORN: "Tallinn", "And?": "right"}
    counted = [
        (each["generated"] == true[each["question"]], each["answer"].strip(".") == true[each["question"]])
        for each in events(run, "revised")
    ]
    assert counted == [(True, True), (False, True), (True, False)]
    assert [each["changed"] for each in events(run, "revised")] == [False, True, True]


def test_a_deduction_that_cannot_be_used_asks_the_whole_question_once() -> None:
    replies = {"deduce": ["?"] * 6, "ground": [cite("Thing number 1 is a thing.", "thing")], "answer": ["?"] * 3}
    run, script = go(replies)
    assert script.steps == ["deduce"] * 3 + ["ground"] + ["deduce"] * 3 + ["answer"] * 3
    assert [each["query"] for each in events(run, "query")] == [QUESTION]
    assert (run.result["answer"], run.result["stop_reason"]) == ("thing", "answered")
    assert run.result["usage"]["parse_failures"] == 9


def test_a_question_as_long_as_allowed_or_without_words_can_be_asked() -> None:
    for question in ("x " * 4_999 + "x?", "?!"):
        replies: dict[str, Any] = {"deduce": lambda _: "", "ground": lambda _: "", "answer": lambda _: ""}
        run, _ = go(replies, question, parse_retries=0)
        assert run.result["stop_reason"] == "unanswerable"


# budgets


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        (1, ["answer"]),
        (2, ["deduce", "answer"]),
        (3, ["deduce", "ground", "answer"]),
        (4, ["deduce", "ground", "deduce", "answer"]),
        (5, ["deduce", "ground", "deduce", "ground", "answer"]),
    ],
)
def test_a_small_budget_keeps_its_last_call_for_an_answer(limit: int, steps: list[str]) -> None:
    run, script = go({**two_hops(), "answer": [answer("best")]}, max_llm_calls=limit, parse_retries=0)
    assert script.steps == steps
    assert (run.result["answer"], run.result["stop_reason"]) == ("best", "budget")
    assert run.result["usage"]["llm_calls"] == limit


def test_a_budget_that_is_just_enough_is_no_limit() -> None:
    run, _ = go(two_hops(), max_llm_calls=7)
    assert (run.result["answer"], run.result["stop_reason"]) == ("Tallinn", "answered")
    replies = {"answer": [answer("x")], "ground": [cite("Thing number 1 is a thing.", "thing")]}
    run, _ = go(replies, deduction=False, max_llm_calls=2)
    assert (run.result["answer"], run.result["stop_reason"]) == ("thing", "answered")


def test_a_deadline_ends_a_run_with_the_last_answer(clock: FakeClock) -> None:
    class Stuck(ScriptedChatModel):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            self.latency = 0.0 if len(self.calls) < 2 else clock.run_out()
            return await super()._agenerate(messages, *args, **kwargs)

    model = Stuck(replies=Script({**two_hops(), "answer": [answer("late")]}))
    context = genground.Context(model=model, retriever=FixedRetriever(found=FOUND), deadline_seconds=2.0)
    run = walk(genground.graph, {"question": QUESTION}, context)
    assert (run.result["answer"], run.result["stop_reason"]) == ("Ada Brink", "budget")
    assert run.result["explanation"] == f"{DIRECTED} Ada Brink"


@pytest.mark.parametrize(
    ("deduction", "grounding", "slow"),
    [(False, True, "answer"), (False, False, "answer"), (True, True, "ground"), (True, False, "answer")],
)
def test_a_slow_step_leaves_time_for_the_answer(deduction: bool, grounding: bool, slow: str, clock: FakeClock) -> None:
    """A deduction that cannot be used asks the whole question; without deduction nothing else is asked."""
    thing = cite("Thing number 1 is a thing.", "thing")
    late = iter([answer("late")] if slow == "answer" else [])
    script = Script(
        {
            "deduce": lambda _: "no reply",
            "answer": lambda _: next(late, answer("thing", [1])),
            "ground": lambda _: thing,
        }
    )

    def latency(role: str) -> float:
        return clock.run_out() if role.endswith(f"/{slow}") and script.steps.count(slow) == 1 else 0

    model = script.model(latency)
    context = genground.Context(
        model=model,
        retriever=FixedRetriever(found={"": NOISE}),
        deduction=deduction,
        grounding=grounding,
        deadline_seconds=3,
    )
    result = genground.graph.invoke({"question": QUESTION}, context=context)
    assert (result["answer"], result["stop_reason"]) == ("thing", "budget")


# the figure


def test_every_edge_of_the_drawing_is_walked() -> None:
    thing = cite("Thing number 1 is a thing.", "thing")
    scenarios: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (two_hops(), {}),
        ({"deduce": [ask_for("Nowhere?")], "answer": [answer("x")], "ground": [EMPTY]}, {"max_llm_calls": 2}),
        ({"answer": [answer("x")], "ground": [thing]}, {"deduction": False}),
        ({"answer": [answer("x")], "ground": [EMPTY] * 3}, {"deduction": False}),
        ({"answer": [answer("x"), answer("y", [1])]}, {"deduction": False, "grounding": False}),
        ({"deduce": [ask_for(BORN), end_with("x")], "answer": [answer("x", [5])]}, {"grounding": False}),
    ]
    walked = {edge for replies, more in scenarios for edge in go(replies, **more)[0].edges}
    assert walked == drawn_edges(genground.graph)


@pytest.mark.parametrize(("speculative", "waves"), [(True, [1, 3, 1]), (False, [1, 1, 1, 1, 1])])
def test_batches_at_once_take_as_long_as_one(speculative: bool, waves: list[int]) -> None:
    script = Script({"deduce": [ask_for("What?", "x"), end_with("x")], "ground": lambda _: EMPTY})
    model = WavesChatModel(replies=script, waves=waves)
    context = genground.Context(
        model=model, retriever=FixedRetriever(found={"": NOISE}), speculative_batches=speculative
    )
    genground.graph.invoke({"question": QUESTION}, context=context)
    assert len(script.steps) == sum(waves)


# demonstrations


@pytest.mark.parametrize("family", FAMILIES)
def test_demonstrations_ask_and_end(family: str) -> None:
    found = read_demonstrations("genground/deduce", family)
    assert len(found) == 4
    ended: list[bool] = []
    for example in found:
        output: Any = example.output
        assert list(output) == ["thought", "sub_question", "answer", "final_answer"]
        assert output["thought"]
        assert ("answer_type" in example.input) == (family == "yes_no")
        assert bool(output["sub_question"]) == bool(output["answer"]) != bool(output["final_answer"])
        ended.append(bool(output["final_answer"]))
    assert set(ended) == {True, False}
    finished = [example.input["question"] for example in found if example.output["final_answer"]]
    assert found[0].input["question"] in finished, "no chain is shown from its first question to its answer"
    if family == "yes_no":
        assert {str(example.output["final_answer"]) for example in found} == {"", "yes", "no"}
    assert read_demonstrations("genground/ground", family) == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_presets_show_the_demonstrations(family: str) -> None:
    seen: list[int] = []

    def reply(_role: str, messages: list[BaseMessage]) -> str:
        seen.append(len(messages))
        return end_with("yes")

    retriever = FixedRetriever(found=FOUND)
    context = genground.Context.preset(family, model=ScriptedChatModel(replies=reply), retriever=retriever)
    assert genground.graph.invoke({"question": QUESTION}, context=context)["answer"] == "yes"
    assert seen == [10]
