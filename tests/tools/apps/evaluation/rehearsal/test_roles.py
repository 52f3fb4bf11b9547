"""Replies of the perfect model for each step, and the propagation of wrong answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from hopgraph.tools.apps.evaluation.rehearsal import RehearsalModel, make_rehearsal
from hopgraph.tools.prompts.delimit import Value, format_block

QUESTION = "Where was the director of Night Harbour born?"
FILM = {
    "title": "Night Harbour",
    "text": "Night Harbour is a drama film that won several prizes. Its director was Ada Brink. It ran for a year.",
}
PERSON = {
    "title": "Ada Brink",
    "text": "The film-maker Ada Brink studied abroad for a while. The artist was born in Larvik in 1950.",
}
OTHER = {
    "title": "Tomas Weil",
    "text": "The film-maker Tomas Weil studied abroad. The artist was born in Graz in 1950.",
}


def ask(
    model: RehearsalModel, step: str, question: str = QUESTION, instructions: str = "At most 3.", **variables: Value
) -> Mapping[str, Any]:
    """Send a prompt in the project's format, and parse the reply."""
    blocks = [format_block(name, value) for name, value in {**variables, "question": question}.items()]
    said = model.reply_to([SystemMessage(f"Role: any/{step}\n{instructions}"), HumanMessage("\n\n".join(blocks))])
    return json.loads(said)


def test_a_search_chain_states_the_open_question_and_guesses_only_if_an_answer_is_demanded(
    perfect: RehearsalModel,
) -> None:
    named = ask(perfect, "reason", instructions='the answer is "unanswerable"', passages=[FILM])
    assert named["reasoning"].endswith("Ada Brink. Where was Ada Brink born")
    assert named["answer"] == "unanswerable"
    guessed = ask(perfect, "reason", instructions="always give an answer", passages=[FILM])
    assert "Where was Ada Brink born: " in guessed["reasoning"]
    assert guessed["answer"] not in ("unanswerable", "Larvik")


def test_a_decision_is_based_on_the_statements_and_states_the_missing_information(perfect: RehearsalModel) -> None:
    first = ask(perfect, "extract", passages=[OTHER, FILM])["useful_information"]
    assert [each["support_passages"] for each in first] == [[2]]
    open_still = ask(perfect, "decide", information=["Noise.", first[0]["info"]])
    assert open_still["answer"]["text"] == "unanswerable"
    assert open_still["missing_information"] == "Where was Ada Brink born?"
    second = ask(perfect, "extract", "Where was Ada Brink born?", passages=[PERSON])["useful_information"]
    done = ask(perfect, "decide", information=["Noise.", first[0]["info"], second[0]["info"]])
    assert done["answer"]["text"] == "Larvik"
    assert done["used_information"] == [2, 3]


def test_a_wrong_answer_in_the_history_is_believed(perfect: RehearsalModel) -> None:
    wrong = "Who is the director of Night Harbour? Tomas Weil (source: The film-maker Tomas Weil.)"
    asked = ask(perfect, "deduce", history=[wrong])
    assert asked["sub_question"] == "Where was Tomas Weil born?"
    ended = ask(perfect, "deduce", history=[wrong, "Where was Tomas Weil born? Graz (not grounded)"])
    assert ended["final_answer"] == "Graz"


def test_a_grounding_cites_a_sentence_for_each_hop(perfect: RehearsalModel) -> None:
    cited = ask(perfect, "ground", passages=[FILM, OTHER, PERSON], generated_answer="Graz")
    assert cited["revise"] == "Larvik"
    sentences = ["Night Harbour: Its director was Ada Brink.", "Ada Brink: The artist was born in Larvik in 1950."]
    assert cited["ref"] == " ".join(sentences)
    assert ask(perfect, "ground", passages=[FILM, OTHER], generated_answer="Graz")["ref"] == "Empty"


def test_a_joint_step_answers_the_last_follow_up_and_asks_the_next(perfect: RehearsalModel) -> None:
    def turn(passages: list[Mapping[str, str]], *history: str, **more: str) -> list[Any]:
        shown: dict[str, Value] = {"passages": passages, "history": [*history], **more}
        return [*ask(perfect, "follow_up_jointly", QUESTION, "At most 3.", **shown).values()]

    who, born = "Who is the director of Night Harbour?", "Where was Ada Brink born?"
    assert turn([]) == ["", [], who, "", ""]
    assert turn([OTHER], follow_up=who) == ["", [], "director Night Harbour", "", ""]
    assert turn([OTHER, FILM], follow_up=who) == ["Ada Brink", [2], born, "", ""]
    assert turn([FILM, PERSON], f"{who} Ada Brink", follow_up=born) == ["Larvik", [2], "", "", "Larvik"]


def test_a_relevant_passage_need_not_be_sufficient(perfect: RehearsalModel) -> None:
    assert [ask(perfect, "judge_relevance", passages=[each])["relevant"] for each in (FILM, OTHER)] == [True, False]
    for shown, enough, needed in [([FILM], False, [1]), ([FILM, OTHER, PERSON], True, [1, 3])]:
        said = ask(perfect, "judge_together", passages=shown)
        assert (said["enough"], said["relevant"]) == (enough, needed)
    assert ask(perfect, "judge_together", "Who is the director of Night Harbour?", passages=[FILM])["enough"] is True


def test_fusion_prefers_the_passages_to_the_majority(perfect: RehearsalModel) -> None:
    wrong, right = "So the answer is: Graz. [passages 1]", "So the answer is: Larvik. [passages 1, 2]"
    shown = ask(perfect, "fuse", assertions=[wrong, wrong, right], passages=[FILM, PERSON])
    assert (shown["answer"], shown["used_assertions"]) == ("Larvik", [3])
    hidden = ask(perfect, "fuse", assertions=[wrong, wrong, right])
    assert (hidden["answer"], hidden["used_assertions"]) == ("Graz", [1, 2])


def test_a_message_without_a_question_is_answered_as_unanswerable(perfect: RehearsalModel) -> None:
    said = json.loads(perfect.reply_to([HumanMessage("Hello there")]))
    assert said["answer"] == "unanswerable"


def test_without_gold_passages_texts_with_the_answer_count_unless_they_are_questions(tmp_path: Path) -> None:
    asked = "Is Graz or Larvik older?"
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"question": asked, "answer": "Graz"}), encoding="utf-8")
    model = make_rehearsal(str(own))

    def decided(text: str) -> str:
        return ask(model, "decide", asked, information=[text])["answer"]["text"]

    assert decided("Graz was founded first.") == "Graz"
    assert decided(f"{asked}: unknown.") == decided("Larvik has a port.") == "unanswerable"
