"""From a question's gold annotations to its plan."""

import re
from collections.abc import Sequence

from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion, GoldHop
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import GoldPassage, Plan, PlanHop, bare, holds, keyed
from hopgraph.tools.apps.evaluation.rehearsal.relations import question_of

_ASIDE = re.compile(r"\s*\([^()]{0,80}\)\s*$")
_RELATION = re.compile(r"\s*(?P<subject>.+?)\s*>>\s*(?P<relation>.+?)\s*\Z")


def plan_of(question: EvalQuestion) -> Plan:
    """Make the plan: from the decomposition, else the triples, else the gold passages in their order."""
    gold = _gold(question)
    if question.hops:
        hops = _from_decomposition(question, gold)
    elif question.triples:
        hops = _from_triples(question, tuple(gold.values()))
    else:
        hops = _from_passages(question, tuple(gold.values()))
    return Plan(question.id, question.question, question.answers or (), hops)


def _gold(question: EvalQuestion) -> dict[str, GoldPassage]:
    """Find the gold passages by id; where the set has no texts, an id that is a title's paragraph gives the title."""
    texts = {each.id: each for each in question.contexts}
    found: dict[str, GoldPassage] = {}
    for name in question.gold:
        sentences = tuple(each.text for each in question.sentences if each.passage_id == name)
        if name in texts:
            found[name] = GoldPassage(texts[name].title, texts[name].text, sentences)
        elif title := next((each for each in question.gold_titles if name.rpartition("-")[0] == each), ""):
            found[name] = GoldPassage(title, "")
    return found


def _from_decomposition(question: EvalQuestion, gold: dict[str, GoldPassage]) -> tuple[PlanHop, ...]:
    """Take the steps as they are; the last one has the question's answer and its other forms.

    StrategyQA does not tell the answers of its steps: the fact that stands in the same place is taken for one.
    """
    last = len(question.hops)
    return tuple(
        PlanHop(
            number,
            _asked(hop),
            _hop_answers(question, hop, number, is_last=number == last),
            tuple(gold[name] for name in hop.passage_ids if name in gold),
        )
        for number, hop in enumerate(question.hops, 1)
    )


def _asked(hop: GoldHop) -> str:
    """Write MuSiQue's `Brother >> performer` as a question."""
    parts = _RELATION.match(hop.question)
    return question_of(parts["subject"], parts["relation"]) if parts else hop.question


def _hop_answers(question: EvalQuestion, hop: GoldHop, number: int, *, is_last: bool) -> tuple[str, ...]:
    answers = question.answers or ()
    if is_last and (not hop.answer or any(keyed(hop.answer) == keyed(each) for each in answers)):
        return answers
    if hop.answer:
        return (hop.answer,)
    return question.facts[number - 1 : number] or answers[:1]


def _from_triples(question: EvalQuestion, gold: Sequence[GoldPassage]) -> tuple[PlanHop, ...]:
    """Make a hop of each triple; a subject that the question does not name is the answer of an earlier one."""
    hops: list[PlanHop] = []
    for number, (subject, relation, value) in enumerate(question.triples, 1):
        earlier = [hop.number for hop in hops if _same(hop.answer, subject)]
        if not earlier and hops and not holds(question.question, _name_in(subject)) and question.type in _CHAINED:
            earlier = [hops[-1].number]
        asked = question_of(f"#{earlier[-1]}" if earlier else subject, relation)
        named = [each for each in gold if _same(each.title, subject)]
        telling = named or [each for each in gold if holds(each.text, value)] or list(gold)
        own = (question.answers or ()) if value in (question.answers or ()) else (value,)
        hops.append(PlanHop(number, asked, own, tuple(telling)))
    return tuple(hops)


_CHAINED = frozenset({"compositional", "inference"})


def _name_in(title: str) -> str:
    """Take a closing "(film)" or the like off a title."""
    return _ASIDE.sub("", title) or title


def _same(one: str, other: str) -> bool:
    return keyed(_name_in(one)) == keyed(_name_in(other))


def _from_passages(question: EvalQuestion, gold: Sequence[GoldPassage]) -> tuple[PlanHop, ...]:
    """Make a hop of each gold passage, those that the question names first, the one with the answer last.

    A passage that is told of in the one before it is found by its title, which is that hop's answer. With one
    passage, several that each answer it, or none, the question is a single hop.
    """
    answers = question.answers or ()
    telling = [each for each in gold if any(holds(each.text, answer) for answer in answers)]
    if len(gold) < 2 or (not question.sentences and len(telling) == len(gold)):
        return (PlanHop(1, question.question, answers, tuple(gold)),)
    ordered = sorted(gold, key=lambda each: (each in telling, not holds(question.question, _name_in(each.title))))
    hops: list[PlanHop] = []
    for number, passage in enumerate(ordered, 1):
        before = ordered[number - 2] if number > 1 else None
        named = holds(question.question, _name_in(passage.title))
        follows = before is not None and not named and holds(before.text, _name_in(passage.title))
        if follows:
            hops[-1] = PlanHop(number - 1, hops[-1].template, (_name_in(passage.title),), hops[-1].passages)
        subject = f"#{number - 1}" if follows else passage.title if named else f"“{bare(question.question)}”"
        own = answers if passage is ordered[-1] and passage in telling else (_told(passage),)
        again = any(subject in hop.template for hop in hops)
        hops.append(PlanHop(number, f"What {'else ' * again}is known of {subject}?", own, (passage,)))
    return tuple(hops)


def _told(passage: GoldPassage) -> str:
    """Let a supporting sentence, else the passage's beginning, stand for what it tells."""
    return next(iter(passage.sentences), passage.text)[:300].strip() or passage.title
