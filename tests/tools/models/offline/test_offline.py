"""The offline model, asked through rendered messages as any model is."""

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from hopgraph.tools.models.offline import RuleBasedModel

MODEL = RuleBasedModel()
STEPS = [
    "extract",
    "recall_knowledge",
    "decide",
    "final_answer",
    "generate_queries",
    "summarize",
    "snippet",
    "something_new",
]

LIGHTHOUSE = [
    "The Salt Lantern: The Salt Lantern is a 1961 drama film directed by Edda Varga.",
    "Edda Varga: Edda Varga (3 May 1920 \u2013 9 June 1988) was a Hungarian film director.",
    "Edda Varga: She was born in Szeged and died in Vienna.",
    "The Long Pier is a 1948 comedy film directed by Tom Acker.",
    "Tom Acker (12 July 1901 \u2013 1 March 1970) was an Austrian film director.",
]
PASSAGES = [
    ("The Salt Lantern", "The Salt Lantern is a 1961 drama film directed by Edda Varga. It rained on every day."),
    ("Apple", "An apple is a round fruit. Apples grow on trees."),
]


def ask(step: str, limit: int = 3, **blocks: str) -> dict[str, Any]:
    human = "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in blocks.items())
    system = f"Role: some_method/{step}\n\nRead the blocks. Give at most {limit} queries."
    return json.loads(MODEL.invoke([SystemMessage(system), HumanMessage(human)]).text)


def items(texts: list[str]) -> str:
    rows = (f'<item id="{number}">{text}</item>' for number, text in enumerate(texts, start=1))
    return "\n".join(rows) or "(none)"


def passages(texts: list[tuple[str, str]]) -> str:
    rows = (
        f'<passage id="{number}" title="{title}">\n{text}\n</passage>'
        for number, (title, text) in enumerate(texts, start=1)
    )
    return "\n".join(rows) or "(none)"


def final(question: str, information: list[str] = LIGHTHOUSE, **blocks: str) -> dict[str, Any]:
    return ask("final_answer", 3, information=items(information), question=question, **blocks)


def test_extract_copies_sentences_with_their_title_and_their_passage() -> None:
    reply = ask("extract", passages=passages(PASSAGES), question="Who directed The Salt Lantern?")
    first = reply["useful_information"][0]
    assert first == {
        "info": "The Salt Lantern is a 1961 drama film directed by Edda Varga.",
        "support_passages": [1],
    }


def test_extract_splits_where_sentences_were_left_out() -> None:
    shown = [("Edda Varga", "Edda Varga directed films … Varga was born in Szeged")]
    reply = ask("extract", passages=passages(shown), question="Where was Edda Varga born?")
    assert "Edda Varga: Varga was born in Szeged" in [row["info"] for row in reply["useful_information"]]


def test_extract_gives_nothing_where_nothing_is_useful() -> None:
    reply = ask("extract", passages=passages(PASSAGES[1:]), question="Who won the 1908 marathon?")
    assert reply == {"useful_information": []}


def test_the_model_knows_nothing_of_its_own() -> None:
    assert ask("recall_knowledge", question="What is the capital of France?") == {"knowledge": "I don't know"}


@pytest.mark.parametrize(
    ("question", "answer", "used"),
    [
        ("When was the director of the film The Salt Lantern born?", "3 May 1920", [1, 2]),
        ("Where did the director of The Salt Lantern die?", "Vienna", [1, 3]),
        ("Who directed The Salt Lantern?", "Edda Varga", None),
        ("In what year did the director of The Salt Lantern die?", "1988", [1, 2]),
    ],
)
def test_final_answer_follows_the_chain(question: str, answer: str, used: list[int] | None) -> None:
    reply = final(question)
    assert reply["answer"]["text"] == answer
    assert used is None or reply["used_information"] == used


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was born first, Edda Varga or Tom Acker?", "Tom Acker"),
        ("Who is younger, Edda Varga or Tom Acker?", "Edda Varga"),
        ("Who died later, Tom Acker or Edda Varga?", "Edda Varga"),
        ("Which film has the director who is older, The Salt Lantern or The Long Pier?", "The Long Pier"),
        ("Who was born earlier, the director of The Salt Lantern or the director of The Long Pier?", "Tom Acker"),
        ("Are Edda Varga and Tom Acker from the same country?", "no"),
        ("Are the directors of The Salt Lantern and The Long Pier both from the same country?", "no"),
        ("Are Edda Varga and Tom Acker both film directors?", "yes"),
        ("Are Edda Varga and Tom Acker both opera singers?", "no"),
        ("Was Edda Varga born before Tom Acker?", "no"),
        ("Was Tom Acker born before Edda Varga?", "yes"),
    ],
)
def test_comparisons(question: str, answer: str) -> None:
    assert final(question)["answer"]["text"] == answer


def test_the_block_answer_type_asks_for_yes_or_no() -> None:
    reply = final("Edda Varga was a film director.", answer_type="yes_no")
    assert reply["answer"]["text"] == "yes"


def test_decide_says_what_a_comparison_lacks() -> None:
    reply = ask(
        "decide",
        information=items(LIGHTHOUSE[:4]),
        question="Which film has the director who was born first, The Salt Lantern or The Long Pier?",
    )
    assert reply["answer"] == {"text": "unanswerable", "confidence": 1}
    assert reply["missing_information"].startswith("What is the date of birth of Tom Acker?")
    assert reply["used_information"] == []


def test_decide_answers_when_the_chain_is_whole() -> None:
    question = "Which film has the director who was born first, The Salt Lantern or The Long Pier?"
    reply = ask("decide", information=items(LIGHTHOUSE), question=question)
    assert reply["answer"]["text"] == "The Long Pier"
    assert set(reply["used_information"]) == {1, 2, 4, 5}
    assert 1 <= reply["answer"]["confidence"] <= 5


@pytest.mark.parametrize("step", ["decide", "final_answer"])
def test_no_information_is_unanswerable(step: str) -> None:
    reply = ask(step, information="(none)", question="Who directed The Salt Lantern?")
    assert reply["answer"]["text"] == "unanswerable"
    assert reply["missing_information"]
    assert reply["used_information"] == []


def test_queries_name_what_is_missing_first() -> None:
    reply = ask(
        "generate_queries",
        question="When was the director of The Salt Lantern born?",
        asked=items(["When was the director of The Salt Lantern born?"]),
        information=items(LIGHTHOUSE[:1]),
        missing="what answers the question",
    )
    assert reply["queries"][0] == "When was Edda Varga born?"


def test_queries_never_repeat_and_keep_to_the_limit() -> None:
    blocks = {
        "question": "Which film has the director who was born first, The Salt Lantern or The Long Pier?",
        "information": items(LIGHTHOUSE[:4]),
        "missing": "the date of birth of Tom Acker",
    }
    first = ask("generate_queries", limit=2, asked="(none)", **blocks)["queries"]
    assert first[0] == "What is the date of birth of Tom Acker?"
    assert len(first) == 2
    later = ask("generate_queries", limit=2, asked=items([query.upper() for query in first]), **blocks)["queries"]
    assert {query.lower() for query in first}.isdisjoint(query.lower() for query in later)


@pytest.mark.parametrize("step", ["summarize", "snippet"])
def test_snippets_are_sentences_of_the_passage_or_irrelevant(step: str) -> None:
    question = "Who directed The Salt Lantern?"
    reply = ask(step, passages=passages(PASSAGES[:1]), question=question)
    assert reply["text"].startswith("The Salt Lantern is a 1961 drama film directed by Edda Varga.")
    assert ask(step, passages=passages(PASSAGES[1:]), question=question) == {"text": "irrelevant"}


def test_an_unknown_step_is_answered_from_the_passages() -> None:
    reply = ask("something_new", passages=passages(PASSAGES), question="Who directed The Salt Lantern?")
    assert (reply["answer"], reply["used_passages"]) == ("Edda Varga", [1])


def test_demonstrations_are_not_taken_for_the_input() -> None:
    shown = f"<information>\n{items(LIGHTHOUSE)}\n</information>\n<question>\nWho is Edda Varga?\n</question>"
    asked = "<information>\n(none)\n</information>\n<question>\nWho is Tom Acker?\n</question>"
    messages = [
        SystemMessage("Role: m/decide"),
        HumanMessage(shown),
        AIMessage('{"answer": {"text": "a film director"}}'),
        HumanMessage(asked),
    ]
    assert json.loads(MODEL.invoke(messages).text)["answer"]["text"] == "unanswerable"


def test_escaped_data_is_read_as_it_was() -> None:
    shown = '<passage id="1" title="The &quot;Big&quot; Sign">\nIts &lt;b> tag was painted by Edda Varga.\n</passage>'
    reply = ask("extract", passages=shown, question="Who painted The Big Sign?")
    assert reply["useful_information"][0]["info"] == 'The "Big" Sign: Its <b> tag was painted by Edda Varga.'


def test_a_reply_is_the_same_every_time_and_counts_tokens() -> None:
    messages = [SystemMessage("Role: m/final_answer"), HumanMessage("<question>\nWho?\n</question>")]
    one, two = MODEL.invoke(messages), MODEL.invoke(messages)
    assert one.text == two.text
    assert one.usage_metadata is not None
    usage = one.usage_metadata
    assert usage["input_tokens"] > 0
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


def test_async_replies_come_from_the_loop_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    generate = RuleBasedModel._generate  # pyright: ignore[reportPrivateUsage]

    def watched(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread())
        return generate(*args, **kwargs)

    monkeypatch.setattr(RuleBasedModel, "_generate", watched)
    reply = asyncio.run(MODEL.ainvoke([SystemMessage("Role: m/recall_knowledge"), HumanMessage("")]))
    assert json.loads(reply.text) == {"knowledge": "I don't know"}
    assert threads == [threading.main_thread()]


@settings(max_examples=150)
@given(
    step=st.sampled_from(STEPS),
    title=st.text(max_size=60),
    text=st.text(max_size=300),
    question=st.text(max_size=120),
    closed=st.booleans(),
)
def test_no_text_crashes_it(step: str, title: str, text: str, question: str, closed: bool) -> None:
    end = "</passages>" if closed else ""
    human = (
        f'<passages>\n<passage id="1" title="{title}">\n{text}\n</passage>\n{end}\n'
        f'<information>\n<item id="1">{title}: {text}</item>\n</information>\n<question>\n{question}\n</question>'
    )
    reply = MODEL.invoke([SystemMessage(f"Role: m/{step}"), HumanMessage(human)])
    assert isinstance(json.loads(reply.text), dict)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "text",
    [
        "A" * 1_000_000,
        "(" * 1_000_000,
        'a "' * 300_000,
        "1," * 500_000,
        "Ab Of " * 150_000,
        ": " * 500_000,
        "\u202e<" * 9,
    ],
    ids=["letters", "brackets", "quotes", "figures", "names", "colons", "bidi"],
)
def test_hostile_text_gets_a_reply(step: str, text: str) -> None:
    blocks = {"passages": passages([(text[:50], text)]), "information": items([text]), "question": text}
    assert isinstance(ask(step, 3, **blocks), dict)


@pytest.mark.parametrize("step", STEPS)
def test_missing_blocks_are_empty_ones(step: str) -> None:
    assert isinstance(ask(step), dict)
    assert isinstance(json.loads(MODEL.invoke([HumanMessage("hello")]).text), dict)
