"""One prompt as the rehearsal model understands it: what is asked, what is shown, what is known by it."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, product
from typing import NamedTuple

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, Field

from hopgraph.tools.apps.evaluation.rehearsal.question_plan import (
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
from hopgraph.tools.models.offline.prompt_reading import Prompt, PromptPassage, read_prompt
from hopgraph.tools.models.offline.statements import write
from hopgraph.tools.text import content_terms, split_sentences

UNANSWERABLE = "unanswerable"
_ASIDES = re.compile(r"(?<!\s)\s+(?:\((?:source|because): .*|\(not grounded\)|\[passages [\d, ]*\])\s*\Z", re.DOTALL)
_LISTS = ("history", "sub_answers", "thoughts", "information", "assertions")
_DRAWS = 20  # how many questions are drawn to find one with another answer


class RehearsalOptions(BaseModel, frozen=True, extra="forbid"):
    """How well the rehearsal model plays."""

    error: float = Field(0.0, ge=0, le=1)
    """The rate at which each of its judgements is wrong."""
    distraction: float = Field(0.0, ge=0, le=1)
    """The rate at which each irrelevant passage misleads a judgement of all passages together."""
    parse_failure: float = Field(0.0, ge=0, le=1)
    """The rate of malformed replies."""
    knowledge: float = Field(0.0, ge=0, le=1)
    """The share of facts that it knows from memory."""
    latency: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Seconds that each reply takes."""
    rename: int | None = Field(None, ge=0)
    """The seed of the run's `--rename`: it reads the questions with the new names, and remembers nothing of them."""
    seed: int = 0
    """Another seed errs in other places and knows other facts."""


class HopAnswer(NamedTuple):
    """A hop's answer, read somewhere in the prompt."""

    hop: PlanHop
    answer: str
    """As it is written there; right in a passage, maybe wrong in a history."""
    statement: str
    """A self-contained sentence that says so."""


@lru_cache(maxsize=4_096)
def _pattern(question: str) -> re.Pattern[str]:
    """Match a question and what follows it; search words begin the line, and no sign follows them."""
    before, sign = (r"(?<!\w)", r"\s*[?:]+") if question.endswith("?") else (r"\A\s*", "")
    return re.compile(rf"{before}{re.escape(without_mark(question))}{sign}\s+(?P<said>\S.{{0,2000}})", re.IGNORECASE)


def _answer_after(question: str, line: str) -> str | None:
    """Return the answer that follows a question in a line: empty for an unknown one, None without the question."""
    found = _pattern(question).search(line)
    if found is None:
        return None
    said = _ASIDES.sub("", found["said"]).strip().rstrip(".")
    return "" if said.casefold() in {"unknown", UNANSWERABLE} else said


@lru_cache(maxsize=4_096)
def sentences_of(text: str) -> tuple[str, ...]:
    """Split a text into its sentences."""
    return tuple(text[start:end] for start, end in split_sentences(text))


def _sentence_for(hop: PlanHop, gold: GoldPassage | None, passage: PromptPassage) -> str:
    """Return the shown sentence that best gives the answer, under the passage's title."""
    wanted = frozenset(content_terms(hop.template))

    def worth(sentence: str) -> tuple[bool, bool, int]:
        answers = any(contains_words(sentence, each) for each in hop.answers)
        supports = any(contains_words(sentence, each) for each in (gold.sentences if gold else ()))
        return answers, supports, len(wanted & frozenset(content_terms(sentence)))

    sentences = (each.strip(" …") for each in sentences_of(passage.text))
    return write(passage.title, max(filter(None, sentences), key=worth, default=passage.text))


def draw(*parts: object) -> float:
    """Return a number from 0 (included) to 1 (excluded); the same parts always give the same."""
    digest = hashlib.blake2b("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


@dataclass
class PromptCase:
    """A prompt with everything that a reply is made of."""

    messages: Sequence[BaseMessage]
    book: PlanBook
    options: RehearsalOptions

    @cached_property
    def prompt(self) -> Prompt:
        """The messages, read."""
        return read_prompt(self.messages)

    @cached_property
    def target(self) -> Target:
        """What the question is."""
        return self.book.find(self.prompt.question)

    @property
    def hops(self) -> tuple[PlanHop, ...]:
        """The hops that the answer needs; none for an unknown question."""
        return self.target.hops

    @cached_property
    def _has_gold(self) -> bool:
        return any(hop.passages for hop in self.target.plan.hops)

    @cached_property
    def by_passage(self) -> dict[int, list[HopAnswer]]:
        """What each passage shown says, by its number; those that say nothing are left out."""
        return {each.number: found for each in self.prompt.passages if (found := self._found_in(each))}

    def by_item(self, name: str) -> dict[int, list[HopAnswer]]:
        """Return what each text of a list says, by its number; those that say nothing are left out."""
        return {number: found for number, text in self.prompt.items(name) if (found := self.found_in_text(text))}

    def _found_in(self, passage: PromptPassage) -> list[HopAnswer]:
        """Return what a passage says of the hops: a gold one what it is annotated with, another what it recalls.

        Where the data set names no passages, any that has the answer counts.
        """
        found: list[HopAnswer] = []
        for hop in self.hops:
            gold = next((each for each in hop.passages if each.is_shown_as(passage.title, passage.text)), None)
            if gold and hop.is_answered_by(gold, passage.text):
                found.append(HopAnswer(hop, hop.answer, _sentence_for(hop, gold, passage)))
        found = found or self.found_in_text(passage.text)
        if found or self._has_gold or self.target.plan.is_yes_no:
            return found
        last = (hop for hop in self.hops[-1:] if any(contains_words(passage.text, each) for each in hop.answers))
        return [HopAnswer(hop, hop.answer, _sentence_for(hop, None, passage)) for hop in last]

    def found_in_text(self, text: str) -> list[HopAnswer]:
        """Return what a text says of the hops, by question and (known) answer or with a sentence of a gold passage."""
        found: list[HopAnswer] = []
        for line, hop in product(text.splitlines(), self.hops):
            said = self._answer_to(hop, line, self._names)
            evidence = ((gold, each) for gold in hop.passages for each in sentences_of(gold.text))
            if said is None and any(hop.is_answered_by(*each) and contains_words(line, each[1]) for each in evidence):
                said = hop.answer
            if said:
                found.append(HopAnswer(hop, said, line.strip()))
        return found

    def _answer_to(self, hop: PlanHop, line: str, names: Mapping[int, str]) -> str | None:
        """Find a hop's question in a line: with the right names, with those given before, or with descriptions."""
        plan = self.target.plan
        ways = wordings(plan.question_of(hop), hop.filled_with(names), plan.self_contained(hop))
        return next((said for way in ways if (said := _answer_after(way, line)) is not None), None)

    @cached_property
    def _names(self) -> dict[int, str]:
        """What was answered to each hop, right or wrong, by the lists of the prompt in their order."""
        names: dict[int, str] = {}
        for _, line in (item for name in _LISTS for item in self.prompt.items(name)):
            for hop in self.hops:
                if said := self._answer_to(hop, line, names):
                    names.setdefault(hop.number, said)
        return names

    def known(self, *lists: str) -> dict[int, str]:
        """Return the answers to hops from the passages, else from these lists of the prompt, and what follows."""
        known: dict[int, str] = {}
        for each in chain(*self.by_passage.values(), *(said for name in lists for said in self.by_item(name).values())):
            known.setdefault(each.hop.number, each.answer)
        return self._with_conclusions(known)

    def remembered(self) -> dict[int, str]:
        """Return the answer of each hop that the model knows from memory; another seed knows others."""
        if self.options.rename is not None:  # what it knows, it knows of the old names
            return {}
        seed, plan, rate = self.options.seed, self.target.plan.id, self.options.knowledge
        drawn = (hop for hop in self.hops if hop.answer and draw(seed, "knows", plan, hop.number) < rate)
        known = {hop.number: hop.answer for hop in drawn}
        return self._with_conclusions(known) if known else known

    def _with_conclusions(self, known: Mapping[int, str]) -> dict[int, str]:
        every = dict(known)
        for hop in (hop for hop in self.hops if self._has_gold and not hop.passages):
            needs = hop.needs or tuple(other.number for other in self.hops if other.number < hop.number)
            if all(number in every for number in needs):
                every.setdefault(hop.number, hop.answer)
        return every

    @cached_property
    def _fingerprint(self) -> str:
        text = "".join(f"{message.type}\x1f{message.text}\x1e" for message in self.messages)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def chance(self, *decision: object) -> float:
        """Draw a number from 0 to 1 for a decision; decisions and prompts are independent of one another."""
        return draw(self.options.seed, self._fingerprint, *decision)

    def errs(self, decision: str, number: int = 0) -> bool:
        """Whether a decision is wrong; `number` tells decisions of one kind apart."""
        return self.chance(decision, number) < self.options.error

    def covers(self, known: Mapping[int, str]) -> bool:
        """Whether every hop of the question is known; False for an unknown question."""
        return bool(self.hops) and all(hop.number in known for hop in self.hops)

    def answers(self, known: Mapping[int, str]) -> bool:
        """Whether what is known answers the question."""
        return bool(self.target.answers) and self.covers(known)

    def is_enough(self, known: Mapping[int, str]) -> bool:
        """Judge whether what is known answers the question."""
        return self.answers(known) != self._is_misled("enough")

    def _is_misled(self, decision: str) -> bool:
        """Whether a judgement of all that is shown is wrong: by itself, or because some passage misleads."""
        idle = sum(each.number not in self.by_passage for each in self.prompt.passages)
        right = (1.0 - self.options.error) * (1.0 - self.options.distraction) ** idle
        return self.chance(decision, 0) < 1.0 - right

    def conclude(self, known: Mapping[int, str]) -> str:
        """Return the answer that follows from what is known; made up where it does not, and in an error."""
        target = self.target
        if not self.answers(known) or self._is_misled("answer"):
            return self.made_up("answer")
        if target.hop is not None:
            return known[target.hop.number]
        if all(is_among(known[hop.number], hop.answers) for hop in target.hops):
            return target.plan.answer
        return known[target.hops[-1].number] if target.plan.last_decides else self.made_up("answer")

    def made_up(self, choice: str) -> str:
        """Return a wrong answer: the other of yes and no, else the answer to another question."""
        plan = self.target.plan
        if self.target.hop is None and plan.is_yes_no:
            return "no" if plan.answer.casefold() == "yes" else "yes"
        others = (each.answer for each in self._drawn_plans(choice) if each.answer and not each.is_yes_no)
        return next((each for each in others if not is_among(each, self.target.answers)), "something else")

    def or_wrong(self, question: str, number: int) -> str:
        """Return a question to ask, or in an error one that belongs to another question."""
        if not self.errs("query", number):
            return question
        others = (plan for plan in self._drawn_plans(f"query:{number}") if plan is not self.target.plan)
        return next((plan.self_contained(plan.asked[0]) for plan in others), "What is something else?")

    def _drawn_plans(self, choice: str) -> Iterator[Plan]:
        plans = self.book.plans
        return (plans[int(self.chance(f"{choice}:{number}") * len(plans))] for number in range(_DRAWS))

    def open_questions(self, known: Mapping[int, str], asked: Iterable[str] = ()) -> list[str]:
        """Ask for each hop that is not known and can be asked now (else the unknown question itself), in new words."""
        plan, part = self.target
        if not self.hops:
            unknown = [self.prompt.question]
        elif part is not None:
            unknown = [] if part.number in known else [plan.question_of(part)]
        else:
            ready = (hop for hop in plan.asked if all(number in known for number in hop.needs))
            unknown = [hop.filled_with(known) for hop in ready if hop.number not in known]
        before = tuple(word_key(text) for text in asked)
        found: list[str] = []
        for number, question in enumerate(unknown):
            new = [each for each in wordings(question) if not any(said.startswith(word_key(each)) for said in before)]
            found += [self.or_wrong(each, number) for each in new[:1]]
        return found

    def next_question(self, known: Mapping[int, str], asked: Iterable[str] = ()) -> str:
        """Return the first of the open questions; empty for none."""
        return next(iter(self.open_questions(known, asked)), "")

    def statements(self, known: Mapping[int, str]) -> list[str]:
        """Write what is known as self-contained sentences, in the order of the hops."""
        names = {number: answer for number, answer in known.items() if answer}
        return [
            f"{hop.filled_with(names).rstrip('?')}: {names[hop.number]}."
            for hop in self.hops
            if hop.number in names and hop.passages
        ]
