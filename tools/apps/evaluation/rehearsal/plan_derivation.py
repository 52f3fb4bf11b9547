"""Derive a question's plan from its gold annotations."""

import re
from collections.abc import Sequence

from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion, GoldHop
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import (
    GoldPassage,
    Plan,
    PlanHop,
    contains_words,
    without_mark,
    word_key,
)
from hopgraph.tools.apps.evaluation.rehearsal.relations import question_about

_ASIDE = re.compile(r"\s*\([^()]{0,80}\)\s*$")
_RELATION = re.compile(r"\s*(?P<subject>.+?)\s*>>\s*(?P<relation>.+?)\s*\Z")
_CHAINED = frozenset({"compositional", "inference"})
"""Types of 2WikiMultihopQA in which each triple starts where the one before ends."""


def derive_plan(question: EvalQuestion) -> Plan:
    """Return the plan: from the decomposition, else the triples, else the gold passages in their order."""
    gold = _gold_passages(question)
    if question.hops:
        hops = _from_decomposition(question, gold)
    elif question.triples:
        hops = _from_triples(question, tuple(gold.values()))
    else:
        hops = _from_passages(question, tuple(gold.values()))
    return Plan(question.id, question.question, question.answers or (), hops)


def _gold_passages(question: EvalQuestion) -> dict[str, GoldPassage]:
    """Return the gold passages by id; where the set has no texts, an id that is a title's paragraph gives the title."""
    contexts = {each.id: each for each in question.contexts}
    found: dict[str, GoldPassage] = {}
    for name in question.gold:
        sentences = tuple(each.text for each in question.sentences if each.passage_id == name)
        if name in contexts:
            found[name] = GoldPassage(contexts[name].title, contexts[name].text, sentences)
        elif (title := name.rpartition("-")[0]) in question.gold_titles and title:
            found[name] = GoldPassage(title, "")
    return found


def _from_decomposition(question: EvalQuestion, gold: dict[str, GoldPassage]) -> tuple[PlanHop, ...]:
    """Take the steps as they are; the last one has the question's answer and its other forms."""
    hops: list[PlanHop] = []
    for number, hop in enumerate(question.hops, 1):
        parts = _RELATION.match(hop.question)  # MuSiQue's `Brother >> performer`
        asked = question_about(parts["subject"], parts["relation"]) if parts else hop.question
        answers = _hop_answers(question, hop, number)
        hops.append(PlanHop(number, asked, answers, tuple(gold[name] for name in hop.passage_ids if name in gold)))
    return tuple(hops)


def _hop_answers(question: EvalQuestion, hop: GoldHop, number: int) -> tuple[str, ...]:
    """Return the answers of a step; for a step of StrategyQA, which has none, the fact of the same number."""
    answers = question.answers or ()
    is_last = number == len(question.hops)
    if is_last and (not hop.answer or any(word_key(hop.answer) == word_key(each) for each in answers)):
        return answers
    if hop.answer:
        return (hop.answer,)
    return question.facts[number - 1 : number] or answers[:1]


def _from_triples(question: EvalQuestion, gold: Sequence[GoldPassage]) -> tuple[PlanHop, ...]:
    """Make a hop of each triple; a subject that the question does not name is the answer of an earlier one."""
    hops: list[PlanHop] = []
    for number, (subject, relation, value) in enumerate(question.triples, 1):
        earlier = [hop.number for hop in hops if _same_name(hop.answer, subject)]
        is_named = contains_words(question.question, _without_aside(subject))
        if not earlier and hops and not is_named and question.type in _CHAINED:
            earlier = [hops[-1].number]
        asked = question_about(f"#{earlier[-1]}" if earlier else subject, relation)
        titled = [each for each in gold if _same_name(each.title, subject)]
        passages = titled or [each for each in gold if contains_words(each.text, value)] or list(gold)
        own = (question.answers or ()) if value in (question.answers or ()) else (value,)
        hops.append(PlanHop(number, asked, own, tuple(passages)))
    return tuple(hops)


def _without_aside(title: str) -> str:
    """Return a title without a closing "(film)" or the like."""
    return _ASIDE.sub("", title) or title


def _same_name(one: str, other: str) -> bool:
    return word_key(_without_aside(one)) == word_key(_without_aside(other))


def _from_passages(question: EvalQuestion, gold: Sequence[GoldPassage]) -> tuple[PlanHop, ...]:
    """Make a hop of each gold passage, those that the question names first, the one with the answer last.

    A passage that the one before it mentions is found by its title, which is that hop's answer. With one passage,
    several that each have the answer, or none, the question is a single hop.
    """
    answers = question.answers or ()
    answering = [each for each in gold if any(contains_words(each.text, answer) for answer in answers)]
    if len(gold) < 2 or (not question.sentences and len(answering) == len(gold)):
        return (PlanHop(1, question.question, answers, tuple(gold)),)
    named = [each for each in gold if contains_words(question.question, _without_aside(each.title))]
    ordered = sorted(gold, key=lambda each: (each in answering, each not in named))
    hops: list[PlanHop] = []
    for number, passage in enumerate(ordered, 1):
        before, name = ordered[number - 2], _without_aside(passage.title)
        subject = passage.title if passage in named else f"“{without_mark(question.question)}”"
        if number > 1 and passage not in named and contains_words(before.text, name):
            hops[-1] = PlanHop(number - 1, hops[-1].template, (name,), hops[-1].passages)
            subject = f"#{number - 1}"
        fact = next(iter(passage.sentences), passage.text)[:300].strip() or passage.title
        own = answers if passage is ordered[-1] and passage in answering else (fact,)
        again = any(subject in hop.template for hop in hops)
        hops.append(PlanHop(number, f"What {'else ' * again}is known of {subject}?", own, (passage,)))
    return tuple(hops)
