"""RA-ISF end to end: a model that a test tells what it knows, fixed passages, every edge of the figure."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from hopgraph.graphs import ra_isf
from support.servers.scripted_model import ScriptedChatModel, WavesChatModel
from support.walks import FixedRetriever, Walk, drawn_edges, walk

QUESTION = "Where was the director of the film Night Harbour born?"
FILM, PERSON = "Who directed the film Night Harbour?", "Where was Ada Brink born?"
CORPUS = {
    "film": ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink. It is set in a port."),
    "person": ("Ada Brink", "Ada Brink was a director. She was born in Tallinn. She liked ships."),
    "noise": ("Harbour", "A harbour shelters ships. Many a film is set in a harbour at night."),
}
ANSWER = "answer_step_by_step"


@dataclass(frozen=True)
class Known:
    """What the model makes of a question."""

    answer: str = "unanswerable"
    known: bool = False
    relevant: str = ""
    """The titles of the passages that it judges relevant."""
    parts: tuple[str, ...] = ()
    because: str = ""


@dataclass
class World:
    """Replies by what is known of each question; of any other question nothing is."""

    questions: dict[str, Known]
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """(step, question) of each call, in the order of arrival."""
    prompts: list[str] = field(default_factory=list[str])

    def __call__(self, role: str, messages: list[BaseMessage]) -> str:
        step, prompt = role.removeprefix("ra_isf/"), messages[-1].text
        question = asked_in(prompt)
        self.steps.append((step, question))
        self.prompts.append(prompt)
        about = self.questions.get(question, Known())
        titles = re.findall(r'<passage id="\d+" title="([^"]*)">', prompt)
        chosen = [number for number, title in enumerate(titles, start=1) if title in about.relevant.split(", ")]
        replies: dict[str, Any] = {
            "self_knowledge": {"known": about.known},
            "judge_together": {"thought": "", "enough": bool(chosen), "relevant": chosen},
            "judge_relevance": {"relevant": bool(chosen)},
            "decompose": {"sub_questions": list(about.parts)},
            ANSWER: {"reasoning": about.because, "answer": about.answer, "used_passages": chosen},
        }
        return json.dumps(replies[step])

    def count(self) -> Counter[str]:
        return Counter(step for step, _ in self.steps)

    def of(self, question: str) -> list[str]:
        """List the steps that were taken for a question."""
        return [step for step, asked in self.steps if asked == question]

    def prompt_of(self, step: str, question: str) -> str:
        return self.prompts[self.steps.index((step, question))]


def asked_in(prompt: str) -> str:
    found = re.search(r"<question>\n(.*)\n</question>", prompt)
    assert found
    return found[1]


def two_levels(**more: Known) -> World:
    return World(
        {
            QUESTION: Known("Tallinn", parts=(FILM, PERSON)),
            FILM: Known("Ada Brink", known=True),
            PERSON: Known("Tallinn", relevant="Ada Brink"),
            **more,
        }
    )


def settings(world: Any, **more: Any) -> ra_isf.Context:
    given: dict[str, Any] = {
        "model": ScriptedChatModel(replies=world),
        "retriever": FixedRetriever(found={"": CORPUS}),
        **more,
    }
    return ra_isf.Context(**given)


def run(world: Any, question: str = QUESTION, **more: Any) -> Walk:
    return walk(ra_isf.graph, {"question": question}, settings(world, **more))


def events(of: Walk, kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in of.events if event["event"] == kind]


def test_two_levels_as_in_the_algorithm() -> None:
    world = two_levels()
    walked = run(world)
    assert [call["role"].removeprefix("ra_isf/") for call in walked.state["calls"].values()] == [
        *("self_knowledge", "FixedRetriever", "judge_together", "decompose"),
        *("self_knowledge", ANSWER),
        *("self_knowledge", "FixedRetriever", "judge_together", ANSWER),
        ANSWER,
    ]
    assert world.of(FILM) == ["self_knowledge", ANSWER]
    assert [data["query"] for data in events(walked, "query")] == [QUESTION, PERSON]
    result = walked.result
    assert (result["answer"], result["stop_reason"]) == ("Tallinn", "answered")
    assert result["explanation"] == f"{FILM} Ada Brink; {PERSON} Tallinn"
    assert [(each["passage_id"], each["kind"], each["quote"]) for each in result["citations"]] == [
        ("model:0.1", "model", "Ada Brink"),
        ("person", "passage", "She was born in Tallinn."),
    ]
    assert [passage["id"] for passage in result["passages"]] == ["person", "film", "noise"]
    assert (result["usage"]["llm_calls"], result["usage"]["retrievals"], result["usage"]["iterations"]) == (9, 2, 2)
    assert set(result) == {"answer", "markdown", "explanation", "citations", "passages", "stop_reason", "usage"}


def test_the_tree_can_be_watched_growing() -> None:
    told = [
        (event["event"], event["data"].get("id"))
        for event in run(two_levels()).events
        if event["event"]
        in {"tree_started", "self_knowledge_judged", "relevance_judged", "decomposed", "question_settled", "composed"}
    ]
    assert told == [
        ("tree_started", "0"),
        *(("self_knowledge_judged", "0"), ("relevance_judged", "0"), ("decomposed", "0")),
        *(("self_knowledge_judged", "0.1"), ("question_settled", "0.1")),
        *(("self_knowledge_judged", "0.2"), ("relevance_judged", "0.2"), ("question_settled", "0.2")),
        ("composed", "0"),
    ]


def test_what_is_shown_to_whom() -> None:
    world = two_levels()
    run(world)
    composed = world.prompt_of(ANSWER, QUESTION)
    assert f'<item id="1">{FILM} Ada Brink</item>\n<item id="2">{PERSON} Tallinn</item>' in composed
    assert "She was born in Tallinn" in composed
    assert "A harbour shelters ships" not in composed
    assert "<passages>" not in world.prompt_of(ANSWER, FILM)
    answered = world.prompt_of(ANSWER, PERSON)
    assert "She was born in Tallinn" in answered
    assert "A harbour shelters ships" not in answered


@pytest.mark.parametrize(
    ("about", "more", "calls"),
    [
        (Known("x", known=True), {}, 2),
        (Known("x", relevant="Night Harbour"), {}, 1 + 1 + 1),
        (Known("x", relevant="Night Harbour"), {"judge": "each"}, 1 + 3 + 1),
        (Known("x", relevant="Night Harbour"), {"judge": "each", "top_k": 1}, 1 + 1 + 1),
        (Known("x", relevant="Night Harbour"), {"self_knowledge": False}, 1 + 1),
        (Known("x", parts=("a?", "b?")), {"max_depth": 0}, 1 + 1 + 1 + 1),
        (Known("x", parts=("a?", "b?")), {"max_depth": 0, "judge": "each"}, 1 + 3 + 1 + 1),
        (Known("x", parts=("a?",)), {"max_depth": 1}, (1 + 1 + 1 + 1) + (1 + 1 + 1)),
        (Known("x", parts=("a?", "b?")), {"passage_relevance": False}, (1 + 1 + 1) + 2 * (1 + 1)),
        (Known("x", parts=("a?", "b?")), {"decomposition": False}, 1 + 1),
        (Known("x", parts=("a?", "b?")), {"decomposition": False, "passage_relevance": False}, 1),
        (Known("x"), {}, 1 + 1 + 1 + 1),
        (Known("unanswerable", known=True), {}, 2 + 1 + 1 + 1),
        (Known("unanswerable", known=True, relevant="Night Harbour"), {}, 2 + 2 + 1 + 1),
        (Known("unanswerable", known=True, relevant="Night Harbour"), {"decomposition": False}, 2 + 2),
    ],
)
def test_calls_are_those_of_the_rule(about: Known, more: dict[str, Any], calls: int) -> None:
    world = World({QUESTION: about})
    result = run(world, **more).result
    assert result["usage"]["llm_calls"] == len(world.steps) == calls


def chain(length: int) -> World:
    """Make questions each of which has the next as its only part."""
    names = [QUESTION, *(f"Part at depth {depth}?" for depth in range(1, length + 1))]
    return World({name: Known(parts=(after,)) for name, after in pairwise(names)})


def test_beyond_the_greatest_depth_a_question_is_unknown_without_a_call() -> None:
    world = chain(9)
    walked = run(world)
    tree = walked.state["tree"]
    assert [(node["depth"], node["status"], node["how"]) for node in tree.values()] == [
        *((depth, "unknown", "unsolved") for depth in range(4)),
        (4, "unknown", "depth"),
    ]
    assert world.of("Part at depth 3?").count("decompose") == 1
    assert world.of("Part at depth 4?") == []
    assert world.of(QUESTION)[-2:] == [ANSWER, ANSWER]  # composed, then a best effort
    assert "Part at depth 4? unknown" in world.prompt_of(ANSWER, "Part at depth 3?")
    assert (walked.result["stop_reason"], walked.result["answer"]) == ("max_depth", "")
    assert (walked.result["citations"], walked.result["usage"]["iterations"]) == ([], 4)


def test_passages_are_cut_to_their_first_tokens() -> None:
    world = two_levels()
    run(world, passage_tokens=7)  # a word of more than seven letters counts as two
    for step in ("judge_together", ANSWER):
        prompts = [prompt for prompt, asked in zip(world.prompts, world.steps, strict=True) if asked == (step, PERSON)]
        assert any('title="Ada Brink">\nAda Brink was a director.\n</passage>' in prompt for prompt in prompts)
    whole = two_levels()
    run(whole, passage_tokens=None)
    assert "She liked ships." in "".join(whole.prompts)


@pytest.mark.parametrize(
    ("judge", "step", "shown"), [("listwise", "judge_together", 3), ("each", "judge_relevance", 1)]
)
def test_passages_are_judged_together_or_each(judge: str, step: str, shown: int) -> None:
    world = two_levels()
    result = run(world, judge=judge).result
    assert world.prompt_of(step, PERSON).count("<passage ") == shown
    assert [each["passage_id"] for each in result["citations"]] == ["model:0.1", "person"]


@pytest.mark.parametrize("role", ["self_knowledge", "judge_relevance", "decompose"])
def test_each_sub_model_can_be_a_model_of_its_own(role: str) -> None:
    world, own = two_levels(), ScriptedChatModel(replies=two_levels())
    run(world, models={f"ra_isf/{role}": own}, judge="each")
    assert {call.role for call in own.calls} == {f"ra_isf/{role}"}
    assert role not in world.count()


def test_parts_that_repeat_a_question_above_are_not_asked_again() -> None:
    world = World(
        {
            QUESTION: Known("Tallinn", parts=(FILM, QUESTION.upper(), f"2. {FILM}")),
            FILM: Known(parts=(QUESTION, "Night Harbour, by whom?")),
        }
    )
    tree = run(world, max_depth=1).state["tree"]
    assert [node["question"] for node in tree.values()] == [QUESTION, FILM, "Night Harbour, by whom?"]


BORN, SEA = "Where was #1 born?", "By which sea is #2?"


def in_order(**more: Known) -> World:
    return World(
        {
            QUESTION: Known("the Baltic", parts=(FILM, BORN, "Who wrote it?", SEA)),
            FILM: Known("Ada Brink", known=True, because="Ada Brink directed it."),
            PERSON: Known("Tallinn", relevant="Ada Brink"),
            "Who wrote it?": Known("Bo Birch", known=True),
            "By which sea is Tallinn?": Known("the Baltic", known=True),
            **more,
        }
    )


def test_a_part_is_asked_with_the_answers_that_it_refers_to() -> None:
    world = in_order()
    walked = run(world)
    assert [node["question"] for node in walked.state["tree"].values()] == [
        *(QUESTION, FILM, PERSON, "Who wrote it?", "By which sea is Tallinn?")
    ]
    assert [data["question"] for data in events(walked, "references_resolved")] == [PERSON, "By which sea is Tallinn?"]
    assert [data["query"] for data in events(walked, "query")] == [QUESTION, PERSON]
    assert "#" not in "".join(world.prompts)
    composed = world.prompt_of(ANSWER, QUESTION)
    assert f"{FILM} Ada Brink (because: Ada Brink directed it.)" in composed
    assert f"{PERSON} Tallinn" in composed
    assert walked.result["answer"] == "the Baltic"


def test_a_part_waits_for_nothing_but_what_it_names() -> None:
    world = in_order()
    waves = [1, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1]  # FILM and "Who wrote it?" at once, then one after the other
    given: Any = {"model": WavesChatModel(replies=world, waves=waves), "max_parallel_calls": 64}
    ra_isf.graph.invoke({"question": QUESTION}, context=settings(world, **given))
    assert len(world.steps) == sum(waves)


def test_side_by_side_no_part_waits() -> None:
    world = in_order()
    tree = run(world, part_order="side_by_side").state["tree"]
    described = f"Where was “{FILM.rstrip('?')}” born?"
    assert [node["question"] for node in tree.values()][2] == described
    assert world.of(described)


def test_what_refers_to_an_unknown_answer_is_unknown_without_a_call() -> None:
    world = in_order(**{FILM: Known()})
    walked = run(world)
    assert [node["how"] for node in walked.state["tree"].values()][1:] == ["unsolved", "unsolved", "known", "unsolved"]
    assert not [asked for _, asked in world.steps if "born" in asked and asked != QUESTION]


def test_so_many_questions_are_worked_on_in_all() -> None:
    world = wide()
    walked = run(world, max_questions=4)
    assert [node["how"] for node in walked.state["tree"].values()] == [
        *("composed", "composed", "passages", "questions", "composed", "questions", "questions")
    ]
    assert not world.of("part 1.2?")
    assert (walked.result["answer"], walked.result["stop_reason"]) == ("Tallinn", "budget")


@pytest.mark.parametrize(("abstain", "answer", "reason"), [(True, "", "unanswerable"), (False, "Tallinn", "answered")])
def test_where_nothing_helps_the_reader_decides_whether_there_is_an_answer(
    abstain: bool, answer: str, reason: str
) -> None:
    world = World({})

    def reply(role: str, messages: list[BaseMessage]) -> str:
        guess = "the best answer that you know" in messages[0].text
        return json.dumps({"answer": "Tallinn"}) if role.endswith(ANSWER) and guess else world(role, messages)

    walked = run(reply, abstain=abstain)
    assert (walked.result["answer"], walked.result["stop_reason"]) == (answer, reason)
    assert walked.state["tree"]["0"]["how"] == ("unsolved" if abstain else "best_effort")
    assert [step for step, _ in world.steps][:3] == ["self_knowledge", "judge_together", "decompose"]


def test_a_question_has_at_most_so_many_parts() -> None:
    world = World({QUESTION: Known("x", parts=tuple(f"part {number}?" for number in range(9)))})
    assert len(run(world, max_depth=0, max_sub_questions=4).state["tree"]) == 5


def test_only_the_question_itself_is_answered_with_yes_or_no() -> None:
    question = "Was the director of Night Harbour born in Tallinn?"
    world = World(
        {
            question: Known("Yes, she was.", parts=(FILM, PERSON)),
            FILM: Known("Ada Brink", known=True),
            PERSON: Known("Tallinn", known=True),
        }
    )
    given: Any = {"model": ScriptedChatModel(replies=world), "retriever": FixedRetriever(found={"": CORPUS})}
    walked = walk(ra_isf.graph, {"question": question}, ra_isf.Context.preset("yes_no", **given))
    assert walked.result["answer"] == "yes"
    assert [node["answer"] for node in walked.state["tree"].values()] == ["yes", "Ada Brink", "Tallinn"]
    assert "yes_no" in world.prompt_of(ANSWER, question)
    assert "yes_no" not in world.prompt_of(ANSWER, FILM)


def test_evidence_carried_up_shows_the_parent_what_the_answers_left_out() -> None:
    def reply(role: str, messages: list[BaseMessage]) -> str:
        prompt = messages[-1].text
        if role.endswith(ANSWER) and asked_in(prompt) == QUESTION:
            seen = "It is set in a port." in prompt
            return json.dumps({"answer": "a port" if seen else "unanswerable", "used_passages": [1, 9] if seen else []})
        return world(role, messages)

    plain, carried = (
        World(
            {
                QUESTION: Known(parts=(FILM, PERSON)),
                FILM: Known("Ada Brink", relevant="Night Harbour"),
                PERSON: Known("Tallinn", relevant="Ada Brink"),
            }
        )
        for _ in range(2)
    )
    world = plain
    retriever = FixedRetriever(found={"director": {"noise": CORPUS["noise"]}, "": CORPUS})
    without = run(reply, retriever=retriever, carry_evidence=False).result
    world = carried
    walked = run(reply, retriever=retriever)
    assert (without["answer"], walked.result["answer"]) == ("", "a port")
    # The price is the two passages once more in the last prompt; without them a best effort follows.
    assert walked.result["usage"]["llm_calls"] == without["usage"]["llm_calls"] - 1
    # The citations narrow down to what the parent itself names.
    assert [each["passage_id"] for each in walked.result["citations"]] == ["film"]
    assert walked.state["tree"]["0"]["passage_ids"] == ["film"]


@pytest.mark.parametrize(
    ("role", "reply", "answer"),
    [
        ("self_knowledge", '{"known": "Yes."}', "Tallinn"),
        ("judge_together", '{"enough": "No.", "relevant": null}', "Tallinn"),
        ("judge_together", '{"enough": "yes", "relevant": [12, "Passage 99"]}', "Tallinn"),
        ("decompose", f'{{"sub_questions": "1. {FILM}\\n2. {PERSON}"}}', "Tallinn"),
        ("decompose", f'{{"sub_questions": [{{"question": "{FILM}"}}]}}', "Tallinn"),
    ],
)
def test_replies_that_are_nearly_right_are_understood(role: str, reply: str, answer: str) -> None:
    world = two_levels()

    def replies(asked: str, messages: list[BaseMessage]) -> str:
        return reply if asked == f"ra_isf/{role}" else world(asked, messages)

    result = run(replies, max_depth=1).result
    assert (result["answer"], result["usage"]["parse_failures"]) == (answer, 0)


def wide() -> World:
    """Make a tree in which everything has two parts and nothing is known but at the bottom."""
    questions = {QUESTION: Known("Tallinn", parts=("part 1?", "part 2?"))}
    for number in (1, 2):
        questions[f"part {number}?"] = Known("half", parts=(f"part {number}.1?", f"part {number}.2?"))
        for deeper in (1, 2):
            questions[f"part {number}.{deeper}?"] = Known("piece", relevant="Ada Brink")
    return World(questions)


def test_the_last_call_answers_from_the_parts_that_are_answered() -> None:
    world = two_levels()
    walked = run(world, max_llm_calls=8)
    assert "sub_answers" in world.prompts[-1]
    assert f"{FILM} Ada Brink" in world.prompts[-1]
    assert (walked.result["answer"], walked.result["stop_reason"]) == ("Tallinn", "budget")
    assert [each["passage_id"] for each in walked.result["citations"]] == ["model:0.1"]


def test_the_last_call_answers_from_own_knowledge_when_there_is_nothing_else() -> None:
    result = run(wide(), max_llm_calls=1, retriever=FixedRetriever(found={})).result
    assert [(each["passage_id"], each["kind"]) for each in result["citations"]] == [("model:0", "model")]


@pytest.mark.parametrize(
    ("tokens", "answer"), [(1, ""), (500, ""), (1600, "Tallinn"), (2000, "Tallinn"), (5000, "Tallinn")]
)
def test_a_token_budget_is_obeyed_in_the_middle_too(tokens: int, answer: str) -> None:
    result = run(wide(), max_tokens=tokens).result
    assert (result["stop_reason"], result["answer"]) == ("budget", answer)
    assert result["usage"]["prompt_tokens"] + result["usage"]["completion_tokens"] <= tokens


def test_siblings_are_solved_and_passages_judged_at_the_same_time() -> None:
    parts = tuple(f"part {number}?" for number in range(4))
    world = World({QUESTION: Known("x", parts=parts), **{part: Known("y", relevant="Ada Brink") for part in parts}})
    waves = [1, 3, 1, 4 * 1, 4 * 3, 4 * 1, 1]  # know, judge, decompose; know, judge, answer; compose
    given: Any = {"model": WavesChatModel(replies=world, waves=waves), "judge": "each", "max_parallel_calls": 64}
    context = settings(world, **given)
    ra_isf.graph.invoke({"question": QUESTION}, context=context)
    assert len(world.steps) == sum(waves)


def test_a_failed_branch_is_solved_again_and_its_siblings_are_not() -> None:
    world, failed = two_levels(), list[str]()

    def reply(role: str, messages: list[BaseMessage]) -> str:
        if asked_in(messages[-1].text) == PERSON and role.endswith(ANSWER) and not failed:
            failed.append(role)
            raise RuntimeError("the model is gone")
        return world(role, messages)

    graph = ra_isf.build().compile(checkpointer=InMemorySaver(), name="RA-ISF")
    config: Any = {"configurable": {"thread_id": "1"}}
    context = settings(reply)
    with pytest.raises(RuntimeError):
        graph.invoke({"question": QUESTION}, config, context=context)
    result = graph.invoke(None, config, context=context)
    assert result["answer"] == "Tallinn"
    assert world.of(FILM) == ["self_knowledge", ANSWER]


def test_every_edge_of_the_drawing_is_walked() -> None:
    one = World({QUESTION: Known("x", parts=("a?",))})
    claims = World({QUESTION: Known(known=True, relevant="Harbour", parts=("a?",))})
    scenarios: list[tuple[World, dict[str, Any]]] = [
        (two_levels(), {}),
        (chain(9), {"max_depth": 1}),
        (one, {"max_llm_calls": 2}),
        (World({}), {"decomposition": False}),
        (World({}), {"decomposition": False, "passage_relevance": False}),
        (claims, {}),
        (claims, {"decomposition": False}),
        (claims, {"passage_relevance": False}),
        (claims, {"passage_relevance": False, "decomposition": False}),
        (two_levels(), {"self_knowledge": False}),
        (two_levels(), {"passage_relevance": False}),
        (one, {"self_knowledge": False, "passage_relevance": False}),
        (one, {"self_knowledge": False, "passage_relevance": False, "decomposition": False}),
    ]
    walked = {edge for world, more in scenarios for edge in run(world, **more).edges}
    assert walked == drawn_edges(ra_isf.graph)
