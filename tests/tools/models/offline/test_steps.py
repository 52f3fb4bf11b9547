"""The steps of the other methods, asked of the offline model as any model is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage

from hopgraph.nodes.core.reply_text import ReplyModel
from hopgraph.nodes.expand import Completion
from hopgraph.nodes.filter_passages import PassageJudgement, Relevance
from hopgraph.nodes.fuse import Fusion
from hopgraph.nodes.ground import GroundReply
from hopgraph.nodes.hops.next_step import Action, JointFollowUp, NextQuestion
from hopgraph.nodes.judge_relevance import JointRelevance, PassageRelevance
from hopgraph.nodes.next_thought import Thought
from hopgraph.nodes.question_tree import SubQuestions
from hopgraph.nodes.reading import AnswerReply
from hopgraph.nodes.recall_knowledge import WrittenPassage
from hopgraph.nodes.review import ReviewWithQuery
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.prompts import clean

MODEL = RuleBasedModel()
SCHEMAS: dict[str, type[ReplyModel]] = {
    "answer": AnswerReply,
    "answer_step_by_step": AnswerReply,
    "deduce": NextQuestion,
    "follow_up": NextQuestion,
    "follow_up_jointly": JointFollowUp,
    "act": Action,
    "ground": GroundReply,
    "review": ReviewWithQuery,
    "review_directly": ReviewWithQuery,
    "complete": Completion,
    "write_passage": WrittenPassage,
    "self_knowledge": SelfKnowledge,
    "judge_relevance": PassageRelevance,
    "judge_together": JointRelevance,
    "select_passages": Relevance,
    "judge_passages": PassageJudgement,
    "decompose": SubQuestions,
    "next_thought": Thought,
    "fuse": Fusion,
}
QUESTION = "Where was the director of the film The Salt Lantern born?"
WHO = "Who is the director of the film The Salt Lantern?"
FILM = ("The Salt Lantern", "The Salt Lantern is a 1961 drama film directed by Edda Varga. It rained on every day.")
LIFE = ("Edda Varga", "Edda Varga was a film director. She was born in Szeged and died in Vienna.")
APPLE = ("Apple", "An apple is a round fruit. Apples grow on trees.")


REFERRING = "Write #1 for the answer to the first."


PLAIN = "Read the blocks."


def ask(step: str, *, instructions: str = PLAIN, **blocks: str | list[str] | list[tuple[str, str]]) -> dict[str, Any]:
    parts = [f"<{name}>\n{rendered(block)}\n</{name}>" for name, block in blocks.items()]
    messages = [SystemMessage(f"Role: some_method/{step}\n\n{instructions}"), HumanMessage("\n\n".join(parts))]
    return json.loads(MODEL.invoke(messages).text)


def rendered(block: str | list[str] | list[tuple[str, str]]) -> str:
    if isinstance(block, str):
        return block
    rows = [
        f'<item id="{n}">{each}</item>'
        if isinstance(each, str)
        else f'<passage id="{n}" title="{each[0]}">\n{each[1]}\n</passage>'
        for n, each in enumerate(block, start=1)
    ]
    return "\n".join(rows) or "(none)"


def test_answer_from_passages_cites_them() -> None:
    reply = ask("answer_step_by_step", passages=[APPLE, FILM, LIFE], question=QUESTION)
    assert reply["answer"] == "Szeged"
    assert reply["used_passages"] == [2, 3]
    assert reply["reasoning"].endswith("So the answer is: Szeged.")


def test_answer_builds_on_answered_sub_questions() -> None:
    known = [f"{WHO} Edda Varga", "Where was Edda Varga born? Szeged"]
    assert ask("answer", sub_answers=known, question=QUESTION)["answer"] == "Szeged"
    assert ask("answer", sub_answers=known[:1], question=QUESTION)["answer"] == "unanswerable"
    assert ask("answer", sub_answers=known[:1], passages=[LIFE], question=QUESTION)["answer"] == "Szeged"


def test_without_anything_given_it_knows_nothing() -> None:
    assert ask("answer", question=QUESTION)["answer"] == "unanswerable"
    assert ask("self_knowledge", question=QUESTION) == {"known": False}
    assert ask("write_passage", question=QUESTION) == {"passage": "I don't know"}
    assert ask("complete", passages=[FILM], question=QUESTION)["passage"] == "I don't know"


@pytest.mark.parametrize("step", ["deduce", "follow_up"])
def test_hop_by_hop(step: str) -> None:
    history: list[str] = []
    reply = ask(step, history=history, question=QUESTION)
    assert (reply["sub_question"], reply["answer"], reply["final_answer"]) == (WHO, "", "")
    assert step == "follow_up" or WHO in reply["thought"]
    history.append(f"{WHO} Edda Varga (source: The Salt Lantern is a 1961 film directed by Edda Varga.)")
    reply = ask(step, history=history, question=QUESTION)
    assert reply["sub_question"] == "Where was Edda Varga born?"
    for aside in (" (source: She was born in Szeged.)", " (not grounded)"):
        told = [*history, f"Where was Edda Varga born? Szeged{aside}"]
        assert ask(step, history=told, question=QUESTION)["final_answer"] == "Szeged"


def test_a_joint_turn_answers_the_last_follow_up_and_goes_on() -> None:
    first = ask("follow_up_jointly", passages=[], history=[], question=QUESTION)
    assert (first["intermediate_answer"], first["sub_question"]) == ("", WHO)
    found = ask("follow_up_jointly", passages=[APPLE, FILM], history=[], follow_up=WHO, question=QUESTION)
    assert (found["intermediate_answer"], found["used_passages"]) == ("Edda Varga", [2])
    assert found["sub_question"] == "Where was Edda Varga born?"
    lost = ask("follow_up_jointly", passages=[APPLE], history=[], follow_up=WHO, question=QUESTION)
    assert (lost["intermediate_answer"], lost["used_passages"]) == ("", [])


def test_nothing_new_to_ask_ends_unanswerable() -> None:
    history = [f"{WHO} unknown", f"{QUESTION} unknown"]
    assert ask("deduce", history=history, question=QUESTION)["final_answer"] == "unanswerable"


def test_a_comparison_asks_for_each_side() -> None:
    question = "Who was born earlier, Edda Varga or Tom Acker?"
    first = ask("deduce", history=[], question=question)["sub_question"]
    assert first == "What is the date of birth of Edda Varga?"
    history = [f"{first} 3 May 1920 (source: Edda Varga was born on 3 May 1920.)"]
    second = ask("deduce", history=history, question=question)["sub_question"]
    assert second == "What is the date of birth of Tom Acker?"
    history.append(f"{second} 12 July 1901 (source: Tom Acker was born on 12 July 1901.)")
    assert ask("deduce", history=history, question=question)["final_answer"] == "Tom Acker"
    assert ask("decompose", question=question) == {"sub_questions": [first, second]}


def test_ground_copies_a_sentence_or_says_empty() -> None:
    reply = ask("ground", passages=[APPLE, FILM], question=WHO, generated_answer="Tom Acker")
    assert reply == {"ref": "The Salt Lantern is a 1961 drama film directed by Edda Varga.", "revise": "Edda Varga"}
    reply = ask("ground", passages=[APPLE], question=WHO, generated_answer="Tom Acker")
    assert reply == {"ref": "Empty", "revise": ""}


def test_act_searches_for_the_name_reached_and_finishes() -> None:
    reply = ask("act", passages=[FILM], history=[], question=QUESTION)
    assert reply["action"] == "search[Where was Edda Varga born?]"
    query = reply["action"].removeprefix("search[").removesuffix("]")
    history = [f"Thought: - Action: search[{query}] Observation: passages 1"]
    assert ask("act", passages=[FILM], history=history, question=QUESTION)["action"] != reply["action"]
    reply = ask("act", passages=[FILM, LIFE], history=history, question=QUESTION)
    assert reply["action"] == "finish[Szeged]"
    assert reply["used_passages"] == [1, 2]


@pytest.mark.parametrize("step", ["review", "review_directly"])
def test_review_rejects_searches_and_accepts(step: str) -> None:
    assert ask(step, passages=[APPLE], question=QUESTION)["relevant"] is False
    search = ask(step, passages=[FILM], question=QUESTION)
    assert (search["relevant"], search["enough"], search["answer"]) == (True, False, "")
    assert search["query"] == "Where was Edda Varga born?"
    accept = ask(step, passages=[FILM, LIFE], question=QUESTION)
    assert (accept["relevant"], accept["enough"], accept["answer"], accept["query"]) == (True, True, "Szeged", "")


def test_passages_are_judged_together_or_one_by_one() -> None:
    assert [ask("judge_relevance", passages=[each], question=QUESTION)["relevant"] for each in (FILM, APPLE)] == [
        True,
        False,
    ]
    cases: list[tuple[list[tuple[str, str]], str, bool, list[int]]] = [
        ([APPLE, FILM], WHO, True, [2]),
        ([APPLE, FILM, LIFE], QUESTION, True, [2, 3]),
        ([FILM], QUESTION, False, [1]),
    ]
    for passages, question, enough, needed in cases:
        said = ask("judge_together", passages=passages, question=question)
        assert (said["enough"], said["relevant"]) == (enough, needed)


def test_weighing_leads_to_the_selection() -> None:
    judgement = ask("judge_passages", passages=[APPLE, FILM], question=WHO)["judgement"]
    reply = ask("select_passages", judgement=judgement, passages=[APPLE, FILM], question=WHO)
    assert reply == {"relevant": [2]}
    assert ask("select_passages", judgement="none", passages=[FILM], question=WHO) == {"relevant": []}


def test_shorten_takes_the_last_stated_answer() -> None:
    reasoning = "The answer is: Vienna. No. So the answer is: Szeged."
    assert ask("shorten", reasoning=reasoning, question=QUESTION) == {"answer": "Szeged"}
    assert ask("shorten", reasoning="Who can tell.", question=QUESTION) == {"answer": "unanswerable"}


def test_decompose_asks_what_is_described_from_the_inside() -> None:
    question = "Which book did the mother of the author of Frankenstein publish in 1792?"
    parts = ["Who is the author of Frankenstein?", "Who is the mother of the author of Frankenstein?"]
    assert ask("decompose", question=question) == {"sub_questions": parts}
    assert ask("decompose", question="Who directed The Salt Lantern?") == {"sub_questions": []}


@pytest.mark.parametrize(
    ("instructions", "question", "parts"),
    [
        (PLAIN, "Where did Edda Varga's father die?", ["Who is Edda Varga's father?"]),
        (
            PLAIN,
            "Who is the child of the director of film Devotion (1929 Film)?",
            ["Who is the director of film Devotion (1929 Film)?"],
        ),
        (PLAIN, "What is the population of the city of Szeged?", []),
        (
            PLAIN,
            "Who was born earlier, the director of Low Tide or the director of High Noon?",
            [
                "Who is the director of Low Tide?",
                "Who is the director of High Noon?",
                "What is the date of birth of the director of Low Tide?",
                "What is the date of birth of the director of High Noon?",
            ],
        ),
        (
            PLAIN,
            "Which band was formed first, Low Tide or High Noon?",
            ["What is the date of Low Tide?", "What is the date of High Noon?"],
        ),
        (
            REFERRING,
            "Which book did the mother of the author of Frankenstein publish in 1792?",
            ["Who is the author of Frankenstein?", "Who is the mother of #1?", "Which book did #2 publish in 1792?"],
        ),
        (
            REFERRING,
            "Who was born earlier, the director of Low Tide or the director of High Noon?",
            [
                "Who is the director of Low Tide?",
                "Who is the director of High Noon?",
                "What is the date of birth of #1?",
                "What is the date of birth of #2?",
            ],
        ),
        (REFERRING, "Who directed The Salt Lantern?", []),
    ],
)
def test_decompose_by_grammar(instructions: str, question: str, parts: list[str]) -> None:
    assert ask("decompose", instructions=instructions, question=question) == {"sub_questions": parts}


def test_a_comparison_is_composed_from_its_parts() -> None:
    known = ["What is the country of Edda Varga? Hungary", "What is the country of Tom Acker? Austria"]
    question = "Are Edda Varga and Tom Acker from the same country?"
    assert ask("answer", sub_answers=known, question=question)["answer"] == "no"
    question = "Who was born earlier, the director of Low Tide or the director of High Noon?"
    steps = ask("decompose", instructions=REFERRING, question=question)["sub_questions"]
    answers = ["Ann Ash", "Bo Birch", "23 March 1910", "9 October 1964"]
    filled = [step.replace("#1", "Ann Ash").replace("#2", "Bo Birch") for step in steps]
    known = [f"{step} {said} (because: it says so)" for step, said in zip(filled, answers, strict=True)]
    assert ask("answer", sub_answers=known, question=question)["answer"] == "Ann Ash"


def test_a_fact_told_in_passing_is_no_final_answer() -> None:
    history = [f"{WHO} Edda Varga (source: The Salt Lantern was shot in Vienna and directed by Edda Varga.)"]
    assert ask("deduce", history=history, question=QUESTION)["sub_question"] == "Where was Edda Varga born?"


def test_thoughts_state_facts_and_then_the_answer() -> None:
    thoughts: list[str] = []
    while not thoughts or "answer is" not in thoughts[-1]:
        assert len(thoughts) < 4
        reply = ask("next_thought", passages=[FILM, LIFE], thoughts=thoughts, question=QUESTION)
        thoughts.append(reply["thought"])
    assert "The Salt Lantern is a 1961 drama film directed by Edda Varga." in thoughts[0]
    assert thoughts[-1] == "So the answer is: Szeged."


def test_fuse_takes_what_most_assertions_say() -> None:
    said = [f"It is told. So the answer is: {place}. [passages 1, 2]" for place in ("Vienna", "Szeged", "Szeged")]
    reply = ask("fuse", assertions=said, question=QUESTION)
    assert (reply["answer"], reply["used_assertions"]) == ("Szeged", [2, 3])


@settings(max_examples=60)
@given(st.sampled_from(sorted(SCHEMAS)), st.text(max_size=300), st.text(max_size=200), st.text(max_size=60))
def test_every_reply_has_the_shape_its_step_asks_for(step: str, text: str, question: str, title: str) -> None:
    lists: dict[str, Any] = {
        name: [text, f"{question}? {title}"] for name in ("history", "sub_answers", "assertions", "thoughts")
    }
    shown = [(title.replace('"', "").replace("\n", " "), text)]
    reply = ask(
        step, passages=shown, question=clean(question).strip() or "Who?", judgement=text, reasoning=text, **lists
    )
    assert SCHEMAS[step].model_validate(reply)


@pytest.mark.slow
@pytest.mark.parametrize("step", sorted(SCHEMAS))
@pytest.mark.parametrize(
    "text",
    [
        "the author of A " * 15_000,
        pytest.param("a? " * 75_000, marks=pytest.mark.long),
        pytest.param("answer is: [" * 22_000, marks=pytest.mark.long),
        pytest.param("Ab Of " * 38_000, marks=pytest.mark.long),
    ],
)
def test_hostile_text_gets_a_reply_of_the_shape(step: str, text: str) -> None:
    reply = ask(step, passages=[("Ab", text)], history=[text], question=text, reasoning=text, assertions=[text])
    SCHEMAS[step].model_validate(reply)
