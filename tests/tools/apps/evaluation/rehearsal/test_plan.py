"""Hops from the annotations of each data set, and the parts of a prompt that make a hop known."""

from pathlib import Path

from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import (
    NO_TARGET,
    GoldPassage,
    Plan,
    derive_plan,
    wordings,
)
from hopgraph.tools.apps.evaluation.rehearsal.rehearsal_model import read_book

TEXT = "Ada Brink was a painter. She was born in Larvik, near the sea, in 1950. Her brother went to Oslo."


def made(passages: dict[str, str], **more: object) -> EvalQuestion:
    contexts = tuple(ContextPassage(f"id-{title}", title, text) for title, text in passages.items())
    given = {"question": "?", "answers": ("Larvik",), "type": "", **more}
    ids, titles = tuple(each.id for each in contexts), tuple(passages)
    return EvalQuestion(id="q", gold=ids, gold_titles=titles, contexts=contexts, **given)  # type: ignore[arg-type]


def questions(plan: Plan) -> list[str]:
    return [hop.template for hop in plan.hops]


def test_triples_of_a_comparison() -> None:
    triples = (
        ("Alpha", "director", "Ada Brink"),
        ("Beta", "director", "Tomas Weil"),
        ("Ada Brink (director)", "date of birth", "1950"),
        ("Tomas Weil", "date of birth", "1960"),
    )
    passages = {"Alpha": "By Ada Brink.", "Beta": "By Tomas Weil.", "Ada Brink": TEXT, "Tomas Weil": "Born in 1960."}
    asked = "Which film has the older director, Alpha or Beta?"
    plan = derive_plan(made(passages, question=asked, answers=("Alpha",), type="bridge_comparison", triples=triples))
    assert questions(plan)[2:] == ["When was #1 born?", "When was #2 born?"]
    assert [hop.passages[0].title for hop in plan.hops] == list(passages)
    assert not plan.last_decides


def test_gold_paragraphs_of_a_bridge_question_lead_from_the_named_one_to_the_answer() -> None:
    passages = {"Ada Brink": TEXT, "Night Harbour": "Night Harbour was made by Ada Brink."}
    told = (GoldSentence("id-Ada Brink", "She was born in Larvik, near the sea, in 1950."),)
    plan = derive_plan(made(passages, question="Where was the maker of Night Harbour born?", sentences=told))
    assert questions(plan) == ["What is known of Night Harbour?", "What is known of #1?"]
    assert [hop.answer for hop in plan.hops] == ["Ada Brink", "Larvik"]


def test_steps_without_passages_are_conclusions_from_the_others() -> None:
    steps = (
        GoldHop("When did A die?", "", ("A-2",)),
        GoldHop("When was B born?", "", ("B-1",)),
        GoldHop("#2 > #1?", "", ()),
    )
    question = EvalQuestion(
        "q",
        "Could A know B?",
        ("no",),
        "yes_no",
        ("A-2", "B-1"),
        ("A", "B"),
        hops=steps,
        facts=("A died.", "B was born."),
    )
    plan = derive_plan(question)
    assert [hop.number for hop in plan.asked] == [1, 2]
    assert [hop.answer for hop in plan.hops] == ["A died.", "B was born.", "no"]
    assert plan.hops[0].passages == (GoldPassage("A", ""),)


def test_parts_of_a_gold_passage_are_recognized_but_not_other_passages() -> None:
    gold = GoldPassage("Ada Brink", TEXT)
    parts = [TEXT[:60], TEXT[9:70], "She was born in Larvik … Her brother went to Oslo.", "Ada Brink was a pain"]
    assert all(gold.is_shown_as("Ada  brink", text) for text in [TEXT, *parts])
    for title, text in [("Ada", TEXT), ("Ada Brink", "Ada Brink was a dancer of note."), ("Ada Brink", "")]:
        assert not gold.is_shown_as(title, text)


def test_a_part_without_the_answer_does_not_answer_the_hop() -> None:
    plan = derive_plan(made({"Ada Brink": TEXT}, question="Where was Ada Brink born?"))
    (hop,), (gold,) = plan.hops, plan.hops[0].passages
    assert hop.is_answered_by(gold, TEXT)
    assert not hop.is_answered_by(gold, "Ada Brink was a painter.")


def test_sub_questions_are_found_in_all_their_wordings(films: Path) -> None:
    book = read_book(films)
    for plan in book.plans:
        assert book.find(plan.question.upper()) == (plan, None)
        for hop in plan.hops:
            for wording in wordings(plan.question_of(hop), plan.self_contained(hop)):
                assert book.find(wording) == (plan, hop)
    assert book.find("What is that?") == NO_TARGET
