"""The offline model in a chat: follow-ups that stand alone, and what kind of message it is."""

import json

import pytest

from hopgraph.tools.models.offline import RuleBasedModel
from hopgraph.tools.prompts import render

WROTE = ["User: Who wrote Frankenstein?", "Assistant: Mary Shelley (sources: Frankenstein; Mary Shelley)"]
LABYRINTH = [
    "User: In which city was the director of the film Pan's Labyrinth born?",
    "Assistant: Guadalajara (sources: Pan's Labyrinth; Guillermo del Toro)",
]
TURING = ["User: When did Alan Turing die?", "Assistant: 1954 (sources: Alan Turing)"]
BRIDGE = ["User: When was the Golden Gate Bridge opened?", "Assistant: May 1937 (sources: Golden Gate Bridge)"]
FATHER = [*WROTE, "User: When was Mary Shelley's father born?", "Assistant: 1756 (sources: William Godwin)"]


def reply(role: str, **variables: str | list[str]) -> dict[str, str]:
    return json.loads(RuleBasedModel().invoke(render(role, variables)).text)


@pytest.mark.parametrize(
    ("history", "message", "question"),
    [
        (WROTE, "When was she born?", "When was Mary Shelley born?"),
        (WROTE, "and her mother?", "Who was Mary Shelley's mother?"),
        (WROTE, "And when was it published?", "When was Frankenstein published?"),
        (WROTE, "What about Dracula?", "Who wrote Dracula?"),
        (WROTE, "And the publisher?", "Who was the publisher of Frankenstein?"),
        (WROTE, "What is that novel about?", "What is Frankenstein about?"),
        (WROTE, "thanks!", "thanks!"),
        (WROTE, "Who was Lord Byron?", "Who was Lord Byron?"),
        (WROTE, "When did Bram Stoker write his novel?", "When did Bram Stoker write his novel?"),
        (LABYRINTH, "and his mother?", "Who was Guillermo del Toro's mother?"),
        (LABYRINTH, "When was he born?", "When was Guillermo del Toro born?"),
        (LABYRINTH, "Who else was born there?", "Who else was born in Guadalajara?"),
        (LABYRINTH, "When was that film released?", "When was Pan's Labyrinth released?"),
        (LABYRINTH, "And the composer?", "Who was the composer of Pan's Labyrinth?"),
        (TURING, "and Rosalind Franklin?", "When did Rosalind Franklin die?"),
        (TURING, "and his mother?", "When did Alan Turing's mother die?"),
        (TURING, "and where?", "Where did Alan Turing die?"),
        (FATHER, "and her mother?", "When was Mary Shelley's mother born?"),
        (FATHER, "When did he die?", "When did William Godwin die?"),
        (BRIDGE, "And the Brooklyn Bridge?", "When was the Brooklyn Bridge opened?"),
        (["User: Thanks", "Assistant: Hello"], "and his mother?", "Who was his mother?"),
    ],
)
def test_a_follow_up_stands_alone(history: list[str], message: str, question: str) -> None:
    assert reply("chat/condense_question", history=history, message=message) == {"question": question}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Hi there!", "small_talk"),
        ("Thank you very much, that helps.", "small_talk"),
        ("what can you do?", "small_talk"),
        ("Hello, who wrote Frankenstein?", "single_hop"),
        ("When was Mary Shelley born?", "single_hop"),
        ("Who was the mother of Mary Shelley?", "single_hop"),
        ("How deep is Lake Baikal?", "single_hop"),
        ("Who composed the music for Spirited Away?", "single_hop"),
        ("Where was the director of Metropolis born?", "bridge"),
        ("In which town was the astronomer who discovered the largest moon of Neptune born?", "bridge"),
        ("Where was the physicist who shared a Nobel Prize with Guglielmo Marconi born?", "bridge"),
        ("Who died first, Alan Turing or Rosalind Franklin?", "comparison"),
        ("Do the Danube and the Volga flow into the same sea?", "comparison"),
        ("Was the Golden Gate Bridge opened before the Brooklyn Bridge?", "comparison"),
    ],
)
def test_a_message_is_routed(message: str, kind: str) -> None:
    assert reply("chat/route", question=message)["kind"] == kind


@pytest.mark.parametrize("text", ["and " * 2_500, "thanks " * 1_400, "the a " * 1_600, "his " * 2_500, "?!" * 5_000])
def test_long_nonsense_gets_a_reply(text: str) -> None:
    history = [f"User: {text[:900]}", f"Assistant: {text[:900]}"]
    assert reply("chat/condense_question", history=history, message=text)["question"]
    assert reply("chat/route", question=text)["kind"]
