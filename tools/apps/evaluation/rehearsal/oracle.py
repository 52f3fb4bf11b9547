"""The oracle: a player that answers a prompt from the gold annotations of its question, passages and known facts."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain, product
from typing import Literal, NamedTuple, Self

from pydantic import BaseModel, Field

from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import (
    NO_TARGET,
    GoldPassage,
    Plan,
    PlanBook,
    PlanHop,
    Target,
    contains_words,
    is_among,
    without_mark,
    word_key,
    wordings,
)
from hopgraph.tools.models.players.player import PlayerAnswer, PromptContents, StatedFact
from hopgraph.tools.models.players.prompt_reading import ParsedPrompt, PromptPassage
from hopgraph.tools.models.players.wording import make_standalone
from hopgraph.tools.text import content_terms, split_sentences

_ASIDES = re.compile(r"(?<!\s)\s+(?:\((?:source|because): .*|\(not grounded\)|\[passages [\d, ]*\])\s*\Z", re.DOTALL)
_ONE_THING = re.compile(
    r"\b(?:only|just|exactly) (?:name )?(?:the )?(?:one|first|next|single)\b"
    r"|\bname (?:only )?(?:the )?(?:one|first|single)\b|\bone missing (?:thing|fact|piece)",
    re.IGNORECASE,
)
_BOTH_SIDES = re.compile(r"\bcomparison needs (?:both|each|every|all)\b|\bneeds both sides\b", re.IGNORECASE)
_NO_RECORD = re.compile(r"\bno record means none\b|\b(?:one|a single) side(?:'s record)? decides\b", re.IGNORECASE)
_IN_PART = re.compile(
    r"\bin part\b|\bbest-supported\b|\bbest (?:answer )?(?:that )?you know\b|\bguess\b|\balways\b", re.IGNORECASE
)
"""Permissions and prohibitions in the instructions that a strict oracle obeys."""
_LISTS = ("history", "sub_answers", "thoughts", "information", "assertions")
_MAX_DRAWS = 20  # questions drawn to find one with another answer


class RehearsalOptions(BaseModel, frozen=True, extra="forbid"):
    """The options of a rehearsal model."""

    error: float = Field(0.0, ge=0, le=1)
    """The error rate of its judgements."""
    parse_failure: float = Field(0.0, ge=0, le=1)
    """The rate of malformed replies."""
    knowledge: float = Field(0.0, ge=0, le=1)
    """The share of facts known from memory."""
    obey: Literal["gold", "strict"] = "gold"
    """strict: prohibitions in the instructions override the gold annotations, which exposes bad prompts."""
    reads: Literal["exact", "loose"] = "exact"
    """loose: facts and questions that a language model has reworded are recognized."""
    latency: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Seconds per reply."""
    rename: int | None = Field(None, ge=0)
    """The seed of the run's `--rename`: the questions have the new names, of which nothing is known from memory."""
    seed: int = 0
    """Determines where errors occur and which facts are known."""


class HopAnswer(NamedTuple):
    """A hop's answer as found in the prompt."""

    hop: PlanHop
    answer: str
    """Its text in the prompt: correct in a passage, possibly wrong in a history."""
    statement: str
    """A self-contained sentence that states it."""


@lru_cache(maxsize=4_096)
def _pattern(question: str) -> re.Pattern[str]:
    """Return a pattern for a question and the text after it; search words begin the line, without a question mark."""
    before, sign = (r"(?<!\w)", r"\s*[?:]+") if question.endswith("?") else (r"\A\s*", "")
    return re.compile(rf"{before}{re.escape(without_mark(question))}{sign}\s+(?P<said>\S.{{0,2000}})", re.IGNORECASE)


def _answer_after(question: str, line: str) -> str | None:
    """Return the answer after a question in a line: empty if it is unknown, None if the question is not there."""
    found = _pattern(question).search(line)
    if found is None:
        return None
    said = _ASIDES.sub("", found["said"]).strip().rstrip(".")
    return "" if said.casefold() in {"unknown", UNANSWERABLE} else said


@lru_cache(maxsize=4_096)
def sentences_of(text: str) -> tuple[str, ...]:
    """Return the sentences of a text."""
    return tuple(text[start:end] for start, end in split_sentences(text))


def _sentence_for(hop: PlanHop, gold: GoldPassage | None, passage: PromptPassage) -> str:
    """Return the shown sentence that best supports the answer, with the passage's title."""
    wanted = frozenset(content_terms(hop.template))

    def worth(sentence: str) -> tuple[bool, bool, int]:
        answers = any(contains_words(sentence, each) for each in hop.answers)
        supports = any(contains_words(sentence, each) for each in (gold.sentences if gold else ()))
        return answers, supports, len(wanted & frozenset(content_terms(sentence)))

    sentences = (each.strip(" …") for each in sentences_of(passage.text))
    return make_standalone(passage.title, max(filter(None, sentences), key=worth, default=passage.text))


def draw_share(*parts: object) -> float:
    """Return a pseudo-random number in [0, 1), deterministic in the parts."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


@dataclass(frozen=True)
class Oracle:
    """Answers a prompt from the gold annotations, using only facts that the prompt shows or that it remembers."""

    prompt: ParsedPrompt
    book: PlanBook
    options: RehearsalOptions
    fingerprint: str
    """Hash of the messages, which determines the reply."""

    def with_question(self, question: str) -> Self:
        """Return the oracle of the same prompt with another question."""
        asked = self.prompt.with_question(question)
        return replace(self, prompt=asked, fingerprint=f"{self.fingerprint}\x1f{word_key(question)}")

    @cached_property
    def target(self) -> Target:
        """The question that the prompt asks."""
        asked = self.prompt.question
        found = self.book.find(asked)
        return self.book.find_similar(asked) if found is NO_TARGET and self._reads_loosely else found

    @property
    def _reads_loosely(self) -> bool:
        return self.options.reads == "loose"

    @property
    def _is_strict(self) -> bool:
        return self.options.obey == "strict"

    def _says(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the instructions match a pattern."""
        return pattern.search(self.prompt.instructions) is not None

    @property
    def hops(self) -> tuple[PlanHop, ...]:
        """The hops that the answer needs; empty for an unknown question."""
        return self.target.hops

    @cached_property
    def _has_gold(self) -> bool:
        return any(hop.passages for hop in self.target.plan.hops)

    @cached_property
    def by_passage(self) -> dict[int, list[HopAnswer]]:
        """Passage number → facts that the passage states; passages without any are left out."""
        return {each.number: found for each in self.prompt.passages if (found := self._found_in(each))}

    def by_item(self, name: str) -> dict[int, list[HopAnswer]]:
        """Return number → facts that this text of a list states; texts without any are left out."""
        found = (
            (number, self.found_in_text(text) or self._found_by_answer(text))
            for number, text in self.prompt.items(name)
        )
        return {number: each for number, each in found if each}

    def _found_in(self, passage: PromptPassage) -> list[HopAnswer]:
        """Return the hop answers that a passage states: by annotation if it is gold, else by its text."""
        found: list[HopAnswer] = []
        for hop in self.hops:
            gold = next((each for each in hop.passages if each.is_shown_as(passage.title, passage.text)), None)
            if gold and hop.is_answered_by(gold, passage.text):
                found.append(HopAnswer(hop, hop.answer, _sentence_for(hop, gold, passage)))
        return (
            found
            or self.found_in_text(passage.text)
            or [
                each._replace(statement=_sentence_for(each.hop, None, passage))
                for each in self._found_by_answer(passage.text)
            ]
        )

    def _found_by_answer(self, text: str) -> list[HopAnswer]:
        """Return the last hop if a text contains its answer and the data set has no gold passages.

        Never for a yes/no question, or for a text that contains the hop's question.
        """
        if self._has_gold or self.target.plan.is_yes_no:
            return []
        last = (hop for hop in self.hops[-1:] if any(contains_words(text, each) for each in hop.answers))
        return [HopAnswer(hop, hop.answer, text.strip()) for hop in last if self._answer_to(hop, text, {}) is None]

    def found_in_text(self, text: str) -> list[HopAnswer]:
        """Return the hop answers that a text states, as question and answer or as a sentence of a gold passage."""
        found: list[HopAnswer] = []
        for line, hop in product(text.splitlines(), self.hops):
            said = self._answer_to(hop, line, self._names)
            evidence = ((gold, each) for gold in hop.passages for each in sentences_of(gold.text))
            if said is None and any(hop.is_answered_by(*each) and contains_words(line, each[1]) for each in evidence):
                said = hop.answer
            if said is None and self._reads_loosely and self._tells(line, hop):
                said = hop.answer
            if said:
                found.append(HopAnswer(hop, said, line.strip()))
        return found

    def _tells(self, line: str, hop: PlanHop) -> bool:
        """Return whether a line has a hop's answer and at least half of its question's other content words."""
        answered = next((each for each in hop.answers if contains_words(line, each)), "")
        asked = frozenset(content_terms(self.target.plan.question_of(hop))) - frozenset(content_terms(answered))
        is_closed = answered.casefold() in {"", "yes", "no"}
        return not is_closed and 2 * len(asked & frozenset(content_terms(line))) >= max(len(asked), 1)

    def _answer_to(self, hop: PlanHop, line: str, names: Mapping[int, str]) -> str | None:
        """Return the answer after a hop's question in a line; the question has right, earlier or descriptive names."""
        plan = self.target.plan
        ways = wordings(plan.question_of(hop), hop.filled_with(names), plan.self_contained(hop))
        return next((said for way in ways if (said := _answer_after(way, line)) is not None), None)

    @cached_property
    def _names(self) -> dict[int, str]:
        """Hop number → answer, right or wrong, from the prompt's lists in order."""
        names: dict[int, str] = {}
        for _, line in (item for name in _LISTS for item in self.prompt.items(name)):
            for hop in self.hops:
                if said := self._answer_to(hop, line, names):
                    names.setdefault(hop.number, said)
        return names

    def _known(self, given: PromptContents) -> dict[int, str]:
        """Return hop number → answer from the given contents, passages first, with conclusions from them."""
        lists = (said for name in given.lists for said in self.by_item(name).values())
        known: dict[int, str] = {}
        for each in chain(*(self.by_passage.values() if given.passages else ()), *lists):
            known.setdefault(each.hop.number, each.answer)
        known = self._with_conclusions({**self._remembered(), **known} if given.memory else known)
        plan, part = self.target
        if self._is_strict and self._says(_BOTH_SIDES) and not self._says(_NO_RECORD):
            known = {number: said for number, said in known.items() if said.casefold() != "none"}
        in_part = given.wants == "last" and (not self._is_strict or self._says(_IN_PART))
        if in_part and part is None and plan.last_decides and plan.hops[-1].number in known:
            known = {**plan.gold_answers, **known}  # information with the answer is sufficient
        return known

    def _remembered(self) -> dict[int, str]:
        """Return hop number → answer for the hops known from memory, which depend on the seed."""
        if self.options.rename is not None:  # memory has only the old names
            return {}
        seed, plan, rate = self.options.seed, self.target.plan.id, self.options.knowledge
        drawn = (hop for hop in self.hops if hop.answer and draw_share(seed, "knows", plan, hop.number) < rate)
        return {hop.number: hop.answer for hop in drawn}

    def _with_conclusions(self, known: Mapping[int, str]) -> dict[int, str]:
        every = dict(known)
        for hop in (hop for hop in self.hops if self._has_gold and not hop.passages):
            needs = hop.needs or tuple(other.number for other in self.hops if other.number < hop.number)
            if all(number in every for number in needs):
                every.setdefault(hop.number, hop.answer)
        return every

    def chance(self, *decision: object) -> float:
        """Draw a number from 0 to 1 for a decision; decisions and prompts are independent of one another."""
        return draw_share(self.options.seed, self.fingerprint, *decision)

    def errs(self, decision: str, number: int = 0) -> bool:
        """Return whether a decision is to be wrong; `number` distinguishes decisions of one kind."""
        return self.chance(decision, number) < self.options.error

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return the right judgement, or its opposite in an error."""
        return right != self.errs(judgement, number)

    def relevant(self) -> list[int]:
        """Return the numbers of relevant passages; a passage is relevant if it states a hop's answer."""
        numbers = (each.number for each in self.prompt.passages)
        return [number for number in numbers if self.judges("relevant", number in self.by_passage, number)]

    def facts(self, given: PromptContents) -> list[StatedFact]:
        """Return the facts of relevant passages and other known facts, by hop; in an error made up or irrelevant."""
        known = self._known(given)
        found: list[tuple[int, str, StatedFact]] = []
        shown = {each.number: each for each in self.prompt.passages} if given.passages else {}
        for number in self.relevant() if shown else ():
            for said in self.by_passage.get(number, ()):
                stated = self._state(said.hop, known) if said.hop.passages else said.statement
                found.append((said.hop.number, stated, StatedFact(stated, said.statement, number)))
            if number not in self.by_passage:
                noise = sentences_of(shown[number].text)[0]
                found.append((len(self.hops) + 1, self.prompt.question, StatedFact(noise, noise, number)))
        told = {number for number, _, _ in found}
        rest = (hop for hop in self.hops if hop.number in known and hop.number not in told and self._is_stated(hop))
        found += [(hop.number, stated, StatedFact(stated)) for hop in rest if (stated := self._state(hop, known))]
        if not found and given.memory and self.errs("fact"):
            return [StatedFact(f"{without_mark(self.prompt.question)}: {self.made_up('fact')}.")]
        found.sort(key=lambda row: row[0])
        return [self._or_error(asked, fact, place) for place, (_, asked, fact) in enumerate(found)]

    def _is_stated(self, hop: PlanHop) -> bool:
        """Return whether a hop is a fact and not a conclusion from others."""
        return bool(hop.passages) or not self._has_gold

    def _state(self, hop: PlanHop, known: Mapping[int, str]) -> str:
        names = {number: answer for number, answer in known.items() if answer}
        return f"{hop.filled_with(names).rstrip('?')}: {names[hop.number]}." if hop.number in names else ""

    def _or_error(self, asked: str, fact: StatedFact, number: int) -> StatedFact:
        if not self.errs("fact", number):
            return fact
        wrong = f"{without_mark(asked.partition(': ')[0])}: {self.made_up(f'fact:{number}')}."
        return StatedFact(wrong, wrong if fact.quote else "", fact.passage)

    def answer(self, given: PromptContents) -> PlayerAnswer:
        """Answer if every hop is known, or if a guess is demanded."""
        known = self._known(given)
        quotes: dict[int, tuple[str, int]] = {}
        for number, found in self.by_passage.items() if given.passages else ():
            for each in found:
                quotes.setdefault(each.hop.number, (each.statement, number))
        stated = [(hop, self._state(hop, known)) for hop in self.hops if self._is_stated(hop)]
        facts = tuple(StatedFact(text, *quotes.get(hop.number, ("", 0))) for hop, text in stated if text)
        if given.wants != "guess" and self._answers(known) == self.errs("enough"):
            return PlayerAnswer(facts=facts)
        passages = _numbers_with(known, self.by_passage if given.passages else {})
        items = _numbers_with(known, self.by_item("information"))
        return PlayerAnswer(self._conclude(known), facts, passages, items)

    def _answers(self, known: Mapping[int, str]) -> bool:
        """Return whether the known hops answer the question; False for an unknown question."""
        return bool(self.target.answers and self.hops) and all(hop.number in known for hop in self.hops)

    def _conclude(self, known: Mapping[int, str]) -> str:
        """Return the answer that follows from the known hops; made up if none follows, and in an error."""
        target = self.target
        if not self._answers(known) or self.errs("answer"):
            return self.made_up("answer")
        if target.hop is not None:
            return known[target.hop.number]
        if all(is_among(known[hop.number], hop.answers) for hop in target.hops):
            return target.plan.answer
        return known[target.hops[-1].number] if target.plan.last_decides else self.made_up("answer")

    def made_up(self, choice: str) -> str:
        """Return a wrong answer: no instead of yes or vice versa, else the answer to another question."""
        plan = self.target.plan
        if self.target.hop is None and plan.is_yes_no:
            return "no" if plan.answer.casefold() == "yes" else "yes"
        others = (each.answer for each in self._drawn_plans(choice) if each.answer and not each.is_yes_no)
        return next((each for each in others if not is_among(each, self.target.answers)), "something else")

    def _or_wrong(self, question: str, number: int) -> str:
        """Return a question to ask, or in an error one from another question's plan."""
        if not self.errs("query", number):
            return question
        others = (plan for plan in self._drawn_plans(f"query:{number}") if plan is not self.target.plan)
        return next((plan.self_contained(plan.asked[0]) for plan in others), "What is something else?")

    def _drawn_plans(self, choice: str) -> Iterator[Plan]:
        plans = self.book.plans
        return (plans[int(self.chance(f"{choice}:{number}") * len(plans))] for number in range(_MAX_DRAWS))

    def next_questions(self, given: PromptContents, asked: list[str]) -> list[str]:
        """Return a new wording for each unknown hop that can be asked now, or else for an unknown question."""
        known, (plan, part) = self._known(given), self.target
        if not self.hops:
            unknown = [self.prompt.question]
        elif part is not None:
            unknown = [] if part.number in known else [plan.question_of(part)]
        else:
            ready = (hop for hop in plan.asked if all(number in known for number in hop.needs))
            unknown = [hop.filled_with(known) for hop in ready if hop.number not in known]
        if self._is_strict:
            missing = self.prompt.text("missing")
            named = [each for each in unknown if contains_words(missing, each)]
            unknown = (named or unknown)[: 1 if self._says(_ONE_THING) else None]
        before = tuple(word_key(text) for text in asked)
        found: list[str] = []
        for number, question in enumerate(unknown):
            new = [each for each in wordings(question) if not any(said.startswith(word_key(each)) for said in before)]
            found += [self._or_wrong(each, number) for each in new[:1]]
        return found

    def parts(self, in_order: bool) -> list[str]:
        """Return the questions of the hops, self-contained or with references; empty for a single hop."""
        plan, part = self.target
        hops = plan.asked[: self.prompt.at_most] if part is None and len(plan.asked) > 1 else ()
        places = {hop.number: f"#{place}" for place, hop in enumerate(hops, start=1)}
        asked = [hop.filled_with(places) if in_order else plan.self_contained(hop) for hop in hops]
        return [self._or_wrong(text, number) for number, text in enumerate(asked)]


def _numbers_with(known: Mapping[int, str], found: Mapping[int, list[HopAnswer]]) -> tuple[int, ...]:
    return tuple(sorted(n for n, answers in found.items() if any(each.hop.number in known for each in answers)))
