"""Derive a question's plan from its gold annotations."""

from collections.abc import Sequence

from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion, GoldHop
from hopgraph.tools.apps.evaluation.named_titles import base_of
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import (
    GoldPassage,
    Plan,
    PlanHop,
    contains_words,
    is_among,
    without_mark,
)

_CHAINED = frozenset({"compositional", "inference"})
"""Types of 2WikiMultihopQA in which each triple starts where the one before ends."""

_RELATION_QUESTIONS = {
    "author": "Who is the author of {}?",
    "award received": "Which award did {} receive?",
    "capital": "What is the capital of {}?",
    "cause of death": "What was the cause of death of {}?",
    "child": "Who is a child of {}?",
    "composer": "Who is the composer of {}?",
    "country": "In which country is {}?",
    "country of citizenship": "Of which country is {} a citizen?",
    "country of origin": "From which country is {}?",
    "date of birth": "When was {} born?",
    "date of death": "When did {} die?",
    "director": "Who is the director of {}?",
    "doctoral advisor": "Who was the doctoral advisor of {}?",
    "educated at": "Where was {} educated?",
    "employer": "Who employed {}?",
    "father": "Who is the father of {}?",
    "founded by": "Who founded {}?",
    "headquarters location": "Where are the headquarters of {}?",
    "inception": "When was {} founded?",
    "instance of": "What is {}?",
    "located in or next to body of water": "By which body of water is {}?",
    "located in the administrative territorial entity": "In which county, district, state or province is {} located?",
    "manufacturer": "Who is the manufacturer of {}?",
    "member of": "Of what is {} a member?",
    "member of political party": "Of which political party is {} a member?",
    "mother": "Who is the mother of {}?",
    "native language": "What is the native language of {}?",
    "original network": "On which network was {} broadcast first?",
    "part of": "What is {} a part of?",
    "performer": "Who is the performer of {}?",
    "place of birth": "Where was {} born?",
    "place of burial": "Where is {} buried?",
    "place of death": "Where did {} die?",
    "producer": "Who is the producer of {}?",
    "publication date": "When was {} published or released?",
    "publisher": "Who is the publisher of {}?",
    "record label": "On which record label is {}?",
    "sibling": "Who is a sibling of {}?",
    "sport": "Which sport is that of {}?",
    "spouse": "Who is the spouse of {}?",
}
"""Questions for the relations of Wikidata, as people would ask them."""


def derive_plan(question: EvalQuestion) -> Plan:
    """Return the plan: from the decomposition, else the triples, else the gold passages in their order."""
    gold = _gold_passages(question)
    if question.hops:
        hops = _from_decomposition(question, gold)
    elif question.triples:
        hops = _from_triples(question, list(gold.values()))
    else:
        hops = _from_passages(question, list(gold.values()))
    return Plan(question.id, question.question, question.answers or (), tuple(hops))


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


def _from_decomposition(question: EvalQuestion, gold: dict[str, GoldPassage]) -> list[PlanHop]:
    """Take the steps as they are; the last one has the question's answer and its other forms."""
    hops: list[PlanHop] = []
    for number, hop in enumerate(question.hops, 1):
        subject, _, relation = map(str.strip, hop.question.partition(">>"))  # MuSiQue's `Brother >> performer`
        asked = _question_about(subject, relation) if subject and relation else hop.question
        passages = tuple(gold[name] for name in hop.passage_ids if name in gold)
        hops.append(PlanHop(number, asked, _hop_answers(question, hop, number), passages))
    return hops


def _hop_answers(question: EvalQuestion, hop: GoldHop, number: int) -> tuple[str, ...]:
    """Return the answers of a step; for a step of StrategyQA, which has none, the fact of the same number."""
    answers = question.answers or ()
    if number == len(question.hops) and (not hop.answer or is_among(hop.answer, answers)):
        return answers
    if hop.answer:
        return (hop.answer,)
    return question.facts[number - 1 : number] or answers[:1]


def _from_triples(question: EvalQuestion, gold: Sequence[GoldPassage]) -> list[PlanHop]:
    """Make a hop of each triple; a subject that the question does not name is the answer of an earlier one."""
    answers = question.answers or ()
    hops: list[PlanHop] = []
    for number, (subject, relation, value) in enumerate(question.triples, 1):
        name = base_of(subject)
        earlier = [hop.number for hop in hops if is_among(name, [base_of(hop.answer)])]
        if not earlier and hops and question.type in _CHAINED and not contains_words(question.question, name):
            earlier = [hops[-1].number]
        asked = _question_about(f"#{earlier[-1]}" if earlier else subject, relation)
        titled = [each for each in gold if is_among(name, [base_of(each.title)])]
        passages = titled or [each for each in gold if contains_words(each.text, value)] or gold
        hops.append(PlanHop(number, asked, answers if value in answers else (value,), tuple(passages)))
    return hops


def _question_about(subject: str, relation: str) -> str:
    """Return a question for a relation of a subject; one that is not listed is asked for by its name."""
    template = _RELATION_QUESTIONS.get(relation.strip().lower(), f"What is the {relation.strip()} of {{}}?")
    return template.replace("{}", subject.strip())


def _from_passages(question: EvalQuestion, gold: Sequence[GoldPassage]) -> list[PlanHop]:
    """Make a hop of each gold passage, those that the question names first, the one with the answer last.

    A passage that the one before it mentions is found by its title, which is that hop's answer. With one passage,
    several that each have the answer, or none, the question is a single hop.
    """
    answers = question.answers or ()
    answering = [each for each in gold if any(contains_words(each.text, answer) for answer in answers)]
    if len(gold) < 2 or (not question.sentences and len(answering) == len(gold)):
        return [PlanHop(1, question.question, answers, tuple(gold))]
    named = [each for each in gold if contains_words(question.question, base_of(each.title))]
    ordered = sorted(gold, key=lambda each: (each in answering, each not in named))
    hops: list[PlanHop] = []
    for number, passage in enumerate(ordered, 1):
        before, name = ordered[number - 2], base_of(passage.title)
        subject = passage.title if passage in named else f"“{without_mark(question.question)}”"
        if number > 1 and passage not in named and contains_words(before.text, name):
            hops[-1] = PlanHop(number - 1, hops[-1].template, (name,), hops[-1].passages)
            subject = f"#{number - 1}"
        fact = next(iter(passage.sentences), passage.text)[:300].strip() or passage.title
        own = answers if passage is ordered[-1] and passage in answering else (fact,)
        again = any(subject in hop.template for hop in hops)
        hops.append(PlanHop(number, f"What {'else ' * again}is known of {subject}?", own, (passage,)))
    return hops
