"""Plans that answer questions hop by hop according to the gold annotations, looked up by a prompt's question."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import NamedTuple

import yaml

from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.named_titles import base_of
from hopgraph.tools.models.players.wording import FUNCTION, WORD, fold, key
from hopgraph.tools.text import content_terms

_PLACE = re.compile(r"#(\d{1,2})")
_MIN_SHARED = 0.5
"""Minimum share of common content words for two questions to count as the same."""
_SIGNS = re.compile(r"(?<![\s?.!])[\s?.!]*+\Z")

_CHAINED = frozenset({"compositional", "inference"})
"""2WikiMultihopQA's types in which each triple's subject is the previous triple's object."""

_RELATION_QUESTIONS: dict[str, str] = yaml.safe_load(
    files(__package__ or "").joinpath("relation_questions.yaml").read_text(encoding="utf-8")
)
"""Wikidata relation → question; `{}` stands for the subject."""


@lru_cache(maxsize=100_000)
def word_key(text: str) -> str:
    """Return a text's lower-case words, each between spaces for whole-word comparison."""
    return f" {key(text)} "


def contains_words(text: str, part: str) -> bool:
    """Return whether a text contains the words of another in sequence; False if that has no words."""
    return bool(word_key(part).strip()) and word_key(part) in word_key(text)


def is_among(text: str, others: Iterable[str]) -> bool:
    """Return whether a text is among others, ignoring case and punctuation."""
    return any(word_key(text) == word_key(each) for each in others)


def without_mark(question: str) -> str:
    """Return a question without its question mark."""
    return _SIGNS.sub("", question)


@dataclass(frozen=True)
class GoldPassage:
    """A passage that a hop needs."""

    title: str
    text: str
    """Empty if the data set has no text for the passage."""
    sentences: tuple[str, ...] = ()
    """The annotated supporting sentences."""
    id: str = ""
    """Its id in an index of the file; empty if the text is."""

    def is_shown_as(self, title: str, text: str) -> bool:
        """Return whether a passage in a prompt is this one, complete, cut off at an end, or as some sentences."""
        same_title = word_key(title) == word_key(self.title)
        return same_title and (not self.text or any(map(self._has_piece, text.split("…"))))

    def _has_piece(self, piece: str) -> bool:
        words = word_key(piece).split()
        inner = words[1:-1] if len(words) > 4 else words  # the outer words may be cut off
        return bool(inner) and f" {' '.join(inner)} " in word_key(self.text)


class _Answered:
    answers: tuple[str, ...]

    @property
    def answer(self) -> str:
        """The answer in its usual form; empty if there is none."""
        return self.answers[0] if self.answers else ""


@dataclass(frozen=True)
class PlanHop(_Answered):
    """One fact to find; hops are numbered from 1."""

    number: int
    template: str
    """The question, with `#1` for the first hop's answer."""
    answers: tuple[str, ...]
    """The usual form first; empty if the data set has none."""
    passages: tuple[GoldPassage, ...]
    """Passages that each contain the fact; empty for a conclusion from other hops, or if the data set has none."""

    @cached_property
    def needs(self) -> tuple[int, ...]:
        """The hops whose answers the question refers to."""
        return tuple(sorted({int(number) for number in _PLACE.findall(self.template)}))

    def filled_with(self, answers: Mapping[int, str]) -> str:
        """Return the question with placeholders replaced by answers; others stay."""
        return f"{without_mark(_PLACE.sub(lambda place: answers.get(int(place[1]), place[0]), self.template))}?"

    def is_answered_by(self, gold: GoldPassage, text: str) -> bool:
        """Return whether the shown part of a gold passage has the answer."""
        if not any(contains_words(gold.text, each) for each in self.answers):
            return True
        return any(contains_words(text, each) for each in (*self.answers, *gold.sentences))


@dataclass(frozen=True)
class Plan(_Answered):
    """A question with its hops."""

    id: str
    question: str
    answers: tuple[str, ...]
    """Empty for a question that cannot be answered."""
    hops: tuple[PlanHop, ...]

    @property
    def is_yes_no(self) -> bool:
        """Return whether the answer is yes or no."""
        return self.answer.casefold() in {"yes", "no"}

    @cached_property
    def asked(self) -> tuple[PlanHop, ...]:
        """The hops to look up; the others follow from them."""
        return tuple(hop for hop in self.hops if hop.passages) or self.hops

    @property
    def last_decides(self) -> bool:
        """Return whether the last hop's answer is the question's; if not, it follows from all of them."""
        return bool(self.hops) and is_among(self.hops[-1].answer, self.answers)

    @cached_property
    def gold_answers(self) -> dict[int, str]:
        """The right answer of each hop."""
        return {hop.number: hop.answer for hop in self.hops if hop.answer}

    def question_of(self, hop: PlanHop) -> str:
        """Return a hop's question with the right names."""
        return hop.filled_with(self.gold_answers)

    def self_contained(self, hop: PlanHop) -> str:
        """Return a hop's question with descriptions for the answers that it needs, so that it can be asked first."""
        needed = [self.hops[number - 1] for number in hop.needs if number < hop.number]
        return hop.filled_with({each.number: f"“{without_mark(self.self_contained(each))}”" for each in needed})


def wordings(*questions: str) -> list[str]:
    """Return each question as it is and, if it is more than a name, as search words."""
    ways: list[str] = []
    for question in dict.fromkeys(questions):
        words = [word for word in WORD.findall(question) if fold(word) not in FUNCTION]
        ways += [question, " ".join(words)] if any(word[0].islower() for word in words) else [question]
    return ways


class Target(NamedTuple):
    """The question that a prompt asks."""

    plan: Plan
    hop: PlanHop | None = None
    """None for the whole question."""

    @property
    def hops(self) -> tuple[PlanHop, ...]:
        """The hops that the answer needs."""
        return self.plan.hops if self.hop is None else (self.hop,)

    @property
    def answers(self) -> tuple[str, ...]:
        """The right answers; may be empty."""
        return self.plan.answers if self.hop is None else self.hop.answers


NO_TARGET = Target(Plan("", "", (), ()))
"""The target of an unknown question, without hops and answers."""


class PlanBook:
    """Finds the plan of a question, or of a sub-question that a plan would ask."""

    def __init__(self, plans: Iterable[Plan]) -> None:
        """Index the plans; of two with the same question the first is found."""
        self.plans = list(plans)
        self._targets = {word_key(plan.question): Target(plan) for plan in reversed(self.plans)}
        for plan in self.plans:
            for hop in plan.asked:
                for wording in wordings(plan.question_of(hop), plan.self_contained(hop)):
                    self._targets.setdefault(word_key(wording), Target(plan, hop))

    def find(self, text: str) -> Target:
        """Return a question's target, or `NO_TARGET`."""
        return self._targets.get(word_key(text), NO_TARGET)

    def find_similar(self, text: str) -> Target:
        """Return the target whose question shares the most content words (at least half), or `NO_TARGET`.

        A tie between different targets gives `NO_TARGET`.
        """
        terms = frozenset(content_terms(text))
        shared = Counter(known for term in terms for known in self._by_term.get(term, ()))
        likeness = {known: n / len(terms | frozenset(content_terms(known))) for known, n in shared.items()}
        most = max(likeness.values(), default=0.0)
        best = [self._targets[known] for known, value in likeness.items() if value == most >= _MIN_SHARED]
        return best[0] if best and all(each == best[0] for each in best) else NO_TARGET

    @cached_property
    def _by_term(self) -> dict[str, list[str]]:
        """Content word → questions that contain it."""
        found: dict[str, list[str]] = defaultdict(list)
        for known in self._targets:
            for term in dict.fromkeys(content_terms(known)):
                found[term].append(known)
        return found


def derive_plan(question: EvalQuestion) -> Plan:
    """Return the plan from the decomposition, else from the triples, else from the gold passages in order."""
    gold = _gold_passages(question)
    if question.hops:
        hops = _from_decomposition(question, gold)
    elif question.triples:
        hops = _from_triples(question, list(gold.values()))
    else:
        hops = _from_passages(question, list(gold.values()))
    return Plan(question.id, question.question, question.answers or (), tuple(hops))


def _gold_passages(question: EvalQuestion) -> dict[str, GoldPassage]:
    """Return id → gold passage; without texts, the title comes from an id of the form TITLE-PARAGRAPH."""
    contexts = {each.id: each for each in question.contexts}
    found: dict[str, GoldPassage] = {}
    for name in question.gold:
        sentences = tuple(each.text for each in question.sentences if each.passage_id == name)
        if name in contexts:
            found[name] = GoldPassage(contexts[name].title, contexts[name].text, sentences, name)
        elif (title := name.rpartition("-")[0]) in question.gold_titles and title:
            found[name] = GoldPassage(title, "")
    return found


def _from_decomposition(question: EvalQuestion, gold: dict[str, GoldPassage]) -> list[PlanHop]:
    """Return the annotated steps as hops; the last one has all forms of the question's answer.

    StrategyQA's steps have no answers; the fact with the same number is used instead.
    """
    answers = question.answers or ()
    hops: list[PlanHop] = []
    for number, hop in enumerate(question.hops, 1):
        subject, _, relation = map(str.strip, hop.question.partition(">>"))  # MuSiQue's `Brother >> performer`
        asked = _question_about(subject, relation) if subject and relation else hop.question
        passages = tuple(gold[name] for name in hop.passage_ids if name in gold)
        is_last = number == len(question.hops) and (not hop.answer or is_among(hop.answer, answers))
        own = (hop.answer,) if hop.answer else question.facts[number - 1 : number] or answers[:1]
        hops.append(PlanHop(number, asked, answers if is_last else own, passages))
    return hops


def _from_triples(question: EvalQuestion, gold: Sequence[GoldPassage]) -> list[PlanHop]:
    """Return a hop per triple; a subject that is not in the question is the answer of an earlier hop."""
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
    """Return a question for a relation of a subject; an unlisted relation is asked for by its name."""
    template = _RELATION_QUESTIONS.get(relation.strip().lower(), f"What is the {relation.strip()} of {{}}?")
    return template.replace("{}", subject.strip())


def _from_passages(question: EvalQuestion, gold: Sequence[GoldPassage]) -> list[PlanHop]:
    """Return a hop per gold passage: those named in the question first, the one with the answer last.

    If the previous passage mentions a passage's title, that title is the previous hop's answer. With fewer than two
    passages, or the answer in every one, the question is a single hop.
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
