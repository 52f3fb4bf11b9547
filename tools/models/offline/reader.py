"""Rules that stand in for a language model; they use only the statements in the prompt."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp
from typing import Self

from hopgraph.tools.models.offline.evidence import RankedSentences
from hopgraph.tools.models.offline.question import compared_parts, described, read_question, split_question
from hopgraph.tools.models.offline.statements import (
    ParsedStatement,
    date_key,
    read_passages,
    read_statement,
    term,
    terms,
)
from hopgraph.tools.models.players.player import PlayerAnswer, PromptContents, StatedFact
from hopgraph.tools.models.players.prompt_reading import ParsedPrompt
from hopgraph.tools.models.players.wording import WORD, key

_ANSWERED = ("history", "sub_answers")
"""Lists of questions with their answers; the others are of statements."""
_REASONS = re.compile(r" \((?:source|because): ")  # what follows an earlier answer
_NOT = re.compile(r"\b(?:not|never|no longer|neither|nor|without)\b")
_MIN_SURE = 1.2
"""From this sum of cover and probability on, about three of four answers were right in the tuning halves."""
_COMPARED = 0.9
"""The probability of a comparison's answer: its facts were found, their reading may be wrong."""
_MIN_SHARED = 0.5  # share of a claim of which the statements about its subject must carry more for a yes
_MIN_REACHED = 0.6  # how good a name must be to be asked for
_MAX_FACTS = 8
_MAX_QUERIES = 20


@dataclass(frozen=True)
class Finding:
    """An answer with how sure it is, what it rests on and what is missing."""

    text: str = ""
    probability: float = 0.0
    used: tuple[ParsedStatement, ...] = ()
    missing: tuple[str, ...] = ()
    """The questions of a comparison that have no answer yet; empty for other questions."""
    covered: float = 0.0
    """The share of the question's term weight that the chain carries, from 0 to 1."""
    complete: bool = False
    """The chain has as many links as the question seems to need, and the answer looks like the asked-for kind."""

    @property
    def sure(self) -> bool:
        """Return whether it is a whole chain whose cover and probability together reach a fitted sum."""
        return bool(self.text) and self.complete and not self.missing and self.covered + self.probability >= _MIN_SURE


@dataclass(frozen=True)
class Reader:
    """Finds answers in statements and among the answers to earlier questions."""

    statements: Sequence[ParsedStatement]
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The answers by the keys of their questions; empty for a question that has none."""

    def evidence(self, question: str) -> RankedSentences:
        """Return the statements as evidence for a question."""
        return RankedSentences(read_question(question), self.statements)

    def resolve(self, question: str) -> str:
        """Put the known answers in place of what the question describes; a comparison has each side's found itself."""
        if self._parts(self.evidence(question)):
            return question
        for _ in self.known:  # an answer may describe something itself, even what it answers
            known = ((phrase, self.known.get(key(asked), "")) for phrase, asked in described(question).items())
            phrase, answer = next((each for each in known if each[1]), ("", ""))
            if not answer:
                break
            question = question.replace(phrase, answer, 1)
        return question

    def find(self, question: str, yes_no: bool = False, one_text: bool = False) -> Finding:
        """Find the best answer: yes or no, whatever the question looks like, where `yes_no` says so.

        If the statements are `one_text`, all of them are one chain, and nothing is compared within it.
        """
        if answer := self.known.get(key(question)):
            return Finding(answer, 1.0, covered=1.0, complete=True)
        evidence = self.evidence(question)
        if not one_text and (parts := self._parts(evidence)):
            return self._compare(evidence, parts)
        if yes_no or evidence.question.kind == "yes_no":
            return _judge_claim(evidence)
        return _best(evidence, one_text)

    def _parts(self, evidence: RankedSentences) -> list[str]:
        persons = frozenset(s.name for s in self.statements if s.is_person)
        return compared_parts(evidence.question, self._sides(evidence), persons)

    def _sides(self, evidence: RankedSentences) -> list[str]:
        """Return the two things that the question compares: its options, else the titles and names it contains."""
        question = evidence.question
        if question.options or question.kind != "yes_no":
            return list(question.options)
        titles = {s.title for s in self.statements if evidence.anchors.get(s.key) == 1.0}
        kept: list[str] = []
        for name in [*sorted(titles, key=lambda title: (-len(title), title)), *question.names]:
            if all(key(name) not in key(other) and key(other) not in key(name) for other in kept):
                kept.append(name)
        return sorted(kept, key=lambda name: question.flat.find(key(name)))[:2]

    def _compare(self, evidence: RankedSentences, parts: Sequence[str]) -> Finding:
        """Answer both parts, and compare the answers: which comes first, or whether they are equal."""
        facts, question = [self._find_part(part) for part in parts], evidence.question
        used = tuple(dict.fromkeys(statement for fact in facts for statement in fact.used))
        is_claim = question.kind == "yes_no"
        if missing := tuple(each for fact in facts for each in fact.missing):
            return Finding("no" if is_claim and used else "", 0.0, used, missing, 1.0, True)
        if is_claim and not question.orders:
            text = "yes" if key(facts[0].text) == key(facts[1].text) else "no"
        else:
            days = [date_key(fact.text) for fact in facts]
            second = days[1] > days[0] if question.wants_latest else days[1] < days[0]
            text = ("no" if second else "yes") if is_claim else self._side(self._sides(evidence)[second])
        return Finding(text, _COMPARED, used, (), 1.0, True)

    def _find_part(self, part: str) -> Finding:
        """Answer a part of a comparison by way of what it describes; only sure answers count."""
        used: tuple[ParsedStatement, ...] = ()
        asked = next(iter(described(part).items()), None)
        if asked and not self.known.get(key(part)):
            found = self._look_up(asked[1])
            if not found.text:
                return Finding(missing=(asked[1],))
            part, used = part.replace(asked[0], found.text, 1), found.used
        found = self._look_up(part)
        return Finding(found.text, used=(*used, *found.used)) if found.text else Finding(missing=(part,))

    def _look_up(self, question: str) -> Finding:
        """Answer a question about one name from the statements about it; empty where they do not say it."""
        anchors = self.evidence(question).anchors
        name = max((name for name, anchor in anchors.items() if anchor == 1.0), key=len, default="")
        about = [s for s in self.statements if s.key == name != ""]
        if "country" in question or "nationality" in question:
            told = next((s for s in about if s.demonym), None)
            if told and key(question) not in self.known:
                return Finding(told.demonym, used=(told,))
        found = Reader(about, self.known).find(question, one_text=True)
        return found if found.complete else Finding()

    def _side(self, side: str) -> str:
        """Return a side as an answer names it: for "the director of X" the director."""
        return self._look_up(f"Who is {side}?").text if described(f"Is it {side}?") else side


def _judge_claim(evidence: RankedSentences) -> Finding:
    """Say yes when the statements about the question's subject, or about both of two, carry what it says."""
    about = [(at, s) for at, s in enumerate(evidence.statements) if evidence.anchors.get(s.key) == 1.0]
    if not about:
        return Finding(missing=(evidence.question.text,))
    claim = evidence.open
    _, best = max(about, key=lambda row: (len(evidence.own[row[0]] & claim), -row[0]))
    carried: dict[str, frozenset[str]] = {}
    for at, statement in about:
        subject = statement.key if "both" in evidence.question.words else ""
        carried[subject] = carried.get(subject, frozenset()) | evidence.own[at]
    whole = all(len(claim & each) > _MIN_SHARED * len(claim) for each in carried.values())
    yes = whole and not _NOT.search(best.text)
    return Finding("yes" if yes else "no", _COMPARED, (best,), (), 1.0, True)


def _best(evidence: RankedSentences, one_text: bool) -> Finding:
    """Return the candidate with the highest score; its probability is its share of all of them.

    A chain that carries not one word of the names in the question is about something else and is left out.
    """
    whole = frozenset[str]().union(*evidence.own)
    named = frozenset[str]().union(*(terms(name) for name in evidence.question.names))
    every = evidence.candidates()
    found = [c for c in every if not named or not named.isdisjoint(whole if one_text else evidence.carried(c.at))]
    if not found:
        return Finding()
    best, weights = found[0], [exp(other.score - found[0].score) for other in found]
    same = sum(w for w, other in zip(weights, found, strict=True) if key(other.text) == key(best.text))
    chain = evidence.chains[best.at]
    carried = whole if one_text else evidence.carried(best.at)
    hops = 1 + len(described(evidence.question.text))
    long = one_text or len(chain) >= min(2, hops)
    used = tuple(evidence.statements[link] for link in chain)
    return Finding(best.text, same / sum(weights), used, (), evidence.cover(carried), long and best.fits)


@dataclass(frozen=True)
class RuleReader:
    """Plays a prompt by rules of English grammar; it has no memory, and errs as rules do."""

    prompt: ParsedPrompt

    def with_question(self, question: str) -> Self:
        """Return the reader of the same prompt with another question."""
        return replace(self, prompt=self.prompt.with_question(question))

    @cached_property
    def _shown(self) -> list[ParsedStatement]:
        return read_passages(self.prompt.passages)

    def _reader(self, given: PromptContents) -> tuple[Reader, str]:
        """Return what is given, and the question with the names that earlier answers gave."""
        known: dict[str, str] = {}
        for _, line in (item for name in _ANSWERED if name in given.lists for item in self.prompt.items(name)):
            asked, _, rest = line.partition("? ")
            answer = _REASONS.split(rest, maxsplit=1)[0].removesuffix(" (not grounded)")
            known[key(asked)] = "" if answer == "unknown" or not key(answer) else answer
        told = self._shown if given.passages else []
        texts = (text for name in given.lists if name not in _ANSWERED for _, text in self.prompt.items(name))
        statements = {statement.whole: statement for statement in reversed(told)}
        for number, text in enumerate(texts, start=len(told) + 1):
            for line in text.splitlines()[:_MAX_QUERIES]:
                statements.setdefault(line, read_statement(number, line))
        reader = Reader(sorted(statements.values(), key=lambda each: each.number), known)
        return reader, reader.resolve(self.prompt.question)

    def _find(self, given: PromptContents) -> Finding:
        reader, question = self._reader(given)
        if not self.prompt.question:
            return Finding()
        return reader.find(question, "yes_no" in self.prompt.blocks.get("answer_type", ""))

    def relevant(self) -> list[int]:
        """Return the passages that name what the question names or that the answer rests on; else the useful."""
        asked = [key(name) for name in read_question(self.prompt.question).names]
        used = (
            {s.passage for s in self._find(PromptContents()).used}
            if asked
            else {f.passage for f in self.facts(PromptContents())}
        )
        texts = {each.number: key(f"{each.title} {each.text}") for each in self.prompt.passages}
        return [number for number, text in texts.items() if number in used or any(name in text for name in asked)]

    def facts(self, given: PromptContents) -> list[StatedFact]:
        """Return the useful sentences, best first; empty when none carries anything that the question asks.

        A sentence scores by the question's terms in it and in its chain, and by how well its title matches the
        question; the first sentence of a passage scores higher, since it says what the title is. Sentences that help
        with one of the queries for which the passages were found count too.
        """
        reader, question = self._reader(given)
        queries = (reader.resolve(query) for _, query in self.prompt.items("queries"))
        found = (fact for asked in dict.fromkeys((question, *queries)) for fact in self._useful(reader.evidence(asked)))
        return list(dict.fromkeys(found))

    def _useful(self, evidence: RankedSentences) -> list[StatedFact]:
        scored: list[tuple[float, int]] = []
        for at, statement in enumerate(evidence.statements):
            own, linked = evidence.cover(evidence.own[at]), evidence.cover(evidence.carried(at))
            anchor = evidence.anchors.get(statement.key, 0.0)
            if linked > 0:
                scored.append((own + 0.3 * anchor + 0.3 * linked + 0.2 * (statement.place == 0), -at))
        return [_fact(evidence.statements[-at]) for _, at in sorted(scored, reverse=True)[:_MAX_FACTS]]

    def answer(self, given: PromptContents) -> PlayerAnswer:
        """Answer from the statements; only a sure answer counts where another search may follow."""
        found = self._find(given)
        reads = given.wants != "sure" and (found.used or given.wants == "last")
        numbers = {text: number for number, text in self.prompt.items("information")}
        return PlayerAnswer(
            found.text if found.sure or reads else "",
            tuple(_fact(statement) for statement in found.used) if found.sure or reads else (),
            tuple(sorted({statement.passage for statement in found.used if statement.passage})),
            tuple(numbers[s.whole] for s in found.used if s.whole in numbers),
            max(1, round(5 * found.probability)),
        )

    def next_questions(self, given: PromptContents, asked: list[str]) -> list[str]:
        """Return up to 20 questions and queries that were not asked yet, best first; may be empty."""
        reader, question = self._reader(given)
        said = {key(line.partition("? ")[0]) for line in asked}
        fresh = dict[str, str]()
        for text in self._proposals(reader, question):
            if key(text) and key(text) not in said:
                fresh.setdefault(key(text), text.strip())
        return [*fresh.values()][:_MAX_QUERIES]

    def _proposals(self, reader: Reader, question: str) -> Iterator[str]:
        """Yield what a comparison lacks, what is described, unknown names, and the names that the evidence reached."""
        missing, evidence = reader.find(question).missing, reader.evidence(question)
        yield from missing or self._next_links(reader, question, evidence)
        yield question

    def _next_links(self, reader: Reader, question: str, evidence: RankedSentences) -> Iterator[str]:
        for phrase, asked in list(described(question).items())[:1]:
            found = reader.find(asked)
            if found.sure:
                yield question.replace(phrase, found.text, 1)
            elif key(asked) not in reader.known:
                yield asked
        if reader.statements:
            every = " \n ".join(evidence.anchors)
            yield from [name for name in evidence.question.names if key(name) not in every][:2]
        for value, name, at in sorted(_reached(evidence), key=lambda row: -row[0]):
            if value >= _MIN_REACHED:
                yield f"{name} {_open_word(evidence, evidence.carried(at))}"

    def parts(self, in_order: bool) -> list[str]:
        """Break the question down by its grammar."""
        return split_question(self.prompt.question, in_order)

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return the judgement as it is."""
        del judgement, number
        return right


def _fact(statement: ParsedStatement) -> StatedFact:
    return StatedFact(statement.whole, statement.whole if statement.passage else "", statement.passage)


def _reached(evidence: RankedSentences) -> Iterator[tuple[float, str, int]]:
    """Yield the names that the evidence mentions and the question does not: their value, name and statement.

    A name counts by the chain that leads to its statement, by a term of the question right before it, and less
    if statements are about it already.
    """
    for at, statement in enumerate(evidence.statements):
        start = evidence.statements[evidence.chains[at][0]].key
        carried = evidence.carried(at)
        reach = evidence.cover(carried) + evidence.cover(carried & evidence.open) + evidence.anchors.get(start, 0.0)
        for span in statement.spans:
            name = key(span.text)
            is_name = span.kind in ("name", "quoted")
            if is_name and name != statement.key and f" {name} " not in evidence.question.flat:
                near = terms(statement.plain[max(0, span.start - 30) : max(0, span.start)]) & evidence.open
                yield reach + 0.5 * bool(near) - 0.3 * (name in evidence.anchors), span.text, at


def _open_word(evidence: RankedSentences, carried: frozenset[str]) -> str:
    """Return the heaviest open word that the chain lacks, the asked-for noun last; empty without one."""
    noun = term(evidence.question.noun)
    left = [word for word in WORD.findall(evidence.question.text) if term(word) in evidence.open - carried]
    return max(left, key=lambda word: (term(word) != noun, evidence.weights[term(word)]), default="")
