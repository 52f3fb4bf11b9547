"""Rules that replace a language model; they use only the statements in the prompt."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log
from typing import NamedTuple, Self

from hopgraph.tools.models.offline.question import Question, compared_parts, described, read_question, split_question
from hopgraph.tools.models.offline.statements import (
    ParsedStatement,
    Span,
    date_key,
    read_passages,
    read_statement,
    term,
    terms,
)
from hopgraph.tools.models.players.player import PlayerAnswer, PromptContents, StatedFact
from hopgraph.tools.models.players.prompt_reading import ParsedPrompt
from hopgraph.tools.models.players.wording import WORD, key
from hopgraph.tools.text.common_words import COMMON_WORDS

_COMMON = frozenset(COMMON_WORDS.split())
_IN = re.compile(r"\b(?:in|at|near|from)\s(?:the\s)?$", re.IGNORECASE)
_FITTING = {
    "person": ({"person"}, {"name"}),
    "place": ({"place"}, {"name", "person"}),
    "date": ({"date"}, set[str]()),
    "number": ({"number"}, set[str]()),
}
"""For each kind of answer, the shapes that fit and those that may; a kind not listed accepts every shape."""
_ANSWERED = ("history", "sub_answers")
"""Lists of questions with their answers; all others are lists of statements."""
_REASONS = re.compile(r" \((?:source|because): ")  # what follows an earlier answer
_NOT = re.compile(r"\b(?:not|never|no longer|neither|nor|without)\b")
_MIN_SURE = 1.2
"""From this sum of cover and probability on, about three of four answers were right in the tuning halves."""
_COMPARED = 0.9
"""The probability of a comparison's answer: its facts were found, but may have been misread."""
_MIN_SHARED = 0.5  # share of a claim of which the statements about its subject must carry more for a yes
_MIN_REACHED = 0.6  # how good a name must be to be asked for
_MAX_FACTS = 8
_MAX_QUERIES = 20


class _Candidate(NamedTuple):
    """A possible answer in one statement."""

    text: str
    at: int  # the statement's index in the evidence
    fits: bool  # it may be the kind of answer asked for
    score: float


class _Evidence:
    """A question and its statements; a link is a name that one statement mentions and another one is about."""

    def __init__(self, question: Question, statements: Sequence[ParsedStatement]) -> None:
        self.question, self.statements = question, statements
        self.weights = self._weigh()
        # The question's terms that each statement carries.
        self.own = [statement.terms & frozenset(self.weights) for statement in statements]
        # How well each name in a statement matches the question: 1 if verbatim, else by its words.
        self.anchors: dict[str, float] = {}
        for name in dict.fromkeys(s.key for s in statements if len(s.key) > 2):
            inside, whole = terms(name), f" {name} " in question.flat
            self.anchors[name] = 1.0 if whole else len(inside & question.terms) / len(inside) if inside else 0.0
        # The question's terms outside the titles it contains: what it asks about them.
        named = (terms(name) for name, anchor in self.anchors.items() if anchor == 1.0)
        self.open = frozenset(self.weights) - frozenset[str]().union(*named)

    def _weigh(self) -> dict[str, float]:
        """Return the weight of each of the question's terms, rare ones and names more; they add up to 1."""
        counts = Counter(found for statement in self.statements for found in statement.terms)
        weights: dict[str, float] = {}
        for position, word in enumerate(WORD.findall(self.question.text)):
            if stem := term(word):
                general = 0.4 if word.lower() in _COMMON else 1.0
                name = 1.5 if position and word[0].isupper() else 1.0
                rare = log(1 + (len(self.statements) + 1) / (counts[stem] + 0.5))
                weights[stem] = max(weights.get(stem, 0.0), general * name * rare)
        total = sum(weights.values())
        return {stem: weight / total for stem, weight in weights.items()}

    def cover(self, found: frozenset[str]) -> float:
        """Return the share of the question's term weight that these terms carry, from 0 to 1."""
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    @cached_property
    def carried(self) -> list[frozenset[str]]:
        """The question's terms along the best chain that ends in each statement."""
        return [frozenset[str]().union(*(self.own[link] for link in chain)) for chain in self.chains]

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends in each statement: it alone, or after one that mentions the name it is about.

        A name that occurs in the question is not a link.
        """
        mentioned_by = {
            name: [at for at, s in enumerate(self.statements) if s.key != name and f" {name} " in s.flat]
            for name in self.anchors
            if f" {name} " not in self.question.flat
        }
        return [
            max([(at,), *((before, at) for before in mentioned_by.get(s.key, ()))], key=self._value)
            for at, s in enumerate(self.statements)
        ]

    def _value(self, chain: tuple[int, ...]) -> float:
        anchor = self.anchors.get(self.statements[chain[0]].key, 0.0)
        carried = frozenset[str]().union(*(self.own[link] for link in chain))
        return self.cover(carried) + 0.15 * anchor - 0.03 * len(chain) + 0.1 * self._linked_by(chain)

    def _linked_by(self, chain: tuple[int, ...]) -> float:
        """Return the share of the open terms that stand next to the name by which a chain goes on."""
        if len(chain) == 1 or not self.open:
            return 0.0
        before, name = self.statements[chain[0]].flat, f" {self.statements[chain[1]].key} "
        at = before.find(name)
        near = before[max(0, at - 25) : at] + " " + before[at + len(name) : at + len(name) + 25]
        return self.cover(terms(near) & self.open) / self.cover(self.open)

    def candidates(self) -> list[_Candidate]:
        """Return the candidate answers, best first, ties in the order of the statements; empty without any."""
        found: list[_Candidate] = []
        kind = self.question.kind
        # The names that some sentence has, so that a title is more than a heading; its first word alone is none.
        every = (span for statement in self.statements for span in statement.spans if span.kind == "name")
        mentioned = {key(span.text) for span in every if span.start or " " in span.text}
        wanted = {"date": {"date"}, "number": {"number"}}.get(kind, {"name", "quoted"})
        for at, statement in enumerate(self.statements):
            spans = [span for span in statement.spans if kind == "thing" or span.kind in wanted]
            if kind == "date":
                spans += [s for s in statement.spans if s.kind == "number" and re.fullmatch(r"\d{3,4}", s.text)]
            if statement.key in mentioned and kind not in ("date", "number"):
                spans.append(Span(statement.name, -1, "name"))
            for span in (*spans, *self._kinds_of_noun(statement)):
                name = key(span.text)
                opens = span.kind == "name" and not span.start and name not in mentioned
                if not opens and name and f" {name} " not in self.question.flat:
                    fits, score = self._score(at, span)
                    found.append(_Candidate(self._shown(statement, span), at, fits, score))
        return sorted(found, key=lambda candidate: -candidate.score)

    def _kinds_of_noun(self, statement: ParsedStatement) -> list[Span]:
        """Return the phrases that end in the noun asked for, such as "platform team" for "which team"."""
        noun = self.question.noun
        if self.question.kind != "thing" or not noun:
            return []
        phrase = rf"\b(?:[Tt]he|[Aa]n?) ((?:[\w-]{{1,30}} ){{1,2}}{re.escape(noun)})\b"
        return [Span(found[1], found.start(1), "kind") for found in re.finditer(phrase, statement.plain)]

    def _shown(self, statement: ParsedStatement, span: Span) -> str:
        """Return a span as an answer: only the year if one is asked for; a number in a table with its currency."""
        day = date_key(span.text) if span.kind == "date" and self.question.noun == "year" else None
        if day and day[0]:
            return str(day[0])
        units = [cell for cell in statement.cells.values() if re.fullmatch(r"[A-Z]{3}|[$£€%]", cell)]
        return f"{span.text} {units[0]}" if span.kind == "number" and span.label and len(units) == 1 else span.text

    def _score(self, at: int, span: Span) -> tuple[bool, float]:
        """Return whether a span may be the asked-for kind of answer, and its score.

        Its looks, the chain that leads to it and the question's terms around it are weighed as a listwise logistic
        regression did on the first halves of the training samples of HotpotQA, 2WikiMultihopQA and MuSiQue.
        """
        question, statement, inside = self.question, self.statements[at], terms(span.text)
        looks = _looks(statement, span)
        fitting, possible = _FITTING.get(question.kind, ({looks}, set[str]()))
        fits = looks in fitting | possible
        carried, own = self.carried[at] - inside, self.own[at] - inside
        start, noun = max(0, span.start), term(question.noun)
        near = terms(span.label or statement.plain[max(0, start - 25) : start])
        if question.kind in ("person", "number") and not span.label:
            near |= terms(" ".join(WORD.findall(statement.plain[start + len(span.text) :][:40])[:2]))
        by_looks = 0.0 if question.kind not in _FITTING else 1.52 if looks in fitting else 0.0 if fits else -1.49
        in_chain = 1.55 * self.anchors.get(self.statements[self.chains[at][0]].key, 0.0)
        told = near & (self.open | {noun}) if span.start >= 0 else frozenset[str]()
        around = 1.40 * bool(noun and noun in statement.terms) + 1.50 * bool(told)
        cover = 1.83 * self.cover(carried) + 1.43 * self.cover(carried & self.open) + 1.31 * self.cover(own & self.open)
        return fits, by_looks + in_chain + around + cover + 2.0 * self._linked_by(self.chains[at])

    def reached(self) -> Iterator[tuple[float, str, int]]:
        """Yield the names that the evidence mentions and the question does not: their value, name and statement.

        A name counts by the chain that leads to its statement, by a term of the question right before it, and less
        if statements are about it already.
        """
        for at, statement in enumerate(self.statements):
            start, carried = self.statements[self.chains[at][0]].key, self.carried[at]
            reach = self.cover(carried) + self.cover(carried & self.open) + self.anchors.get(start, 0.0)
            for span in statement.spans:
                name = key(span.text)
                is_name = span.kind in ("name", "quoted")
                if is_name and name != statement.key and f" {name} " not in self.question.flat:
                    near = terms(statement.plain[max(0, span.start - 30) : max(0, span.start)]) & self.open
                    yield reach + 0.5 * bool(near) - 0.3 * (name in self.anchors), span.text, at

    def open_word(self, at: int) -> str:
        """Return the heaviest open word that a statement's chain lacks, the asked-for noun last; empty without one."""
        noun, lacking = term(self.question.noun), self.open - self.carried[at]
        left = [word for word in WORD.findall(self.question.text) if term(word) in lacking]
        return max(left, key=lambda word: (term(word) != noun, self.weights[term(word)]), default="")


def _looks(statement: ParsedStatement, span: Span) -> str:
    """Return the shape of a span: person, place, quoted, date, number or any name."""
    words = span.text.split()
    if span.kind != "name":
        return span.kind
    if ", " in span.text or _IN.search(statement.plain[max(0, span.start - 12) : max(0, span.start)]):
        return "place"
    return "person" if 2 <= len(words) <= 3 and words[0] != "The" else "name"


@dataclass(frozen=True)
class _Finding:
    """An answer with its certainty, its support and what is missing."""

    text: str = ""
    probability: float = 0.0
    used: tuple[ParsedStatement, ...] = ()
    missing: tuple[str, ...] = ()  # the questions of a comparison that have no answer yet
    covered: float = 0.0  # the share of the question's term weight that the chain carries, from 0 to 1
    complete: bool = False  # as many links as the question seems to need, and an answer that looks like the kind

    @property
    def sure(self) -> bool:
        """Return whether it is a whole chain whose cover and probability together reach a fitted sum."""
        return bool(self.text) and self.complete and not self.missing and self.covered + self.probability >= _MIN_SURE


@dataclass(frozen=True)
class _Reader:
    """Finds answers in statements and among the answers to earlier questions."""

    statements: Sequence[ParsedStatement]
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The answers by the keys of their questions; empty for a question that has none."""
    read: dict[str, _Evidence] = field(default_factory=dict[str, _Evidence])
    """The evidence by the questions that were read."""

    def evidence(self, question: str) -> _Evidence:
        if question not in self.read:
            self.read[question] = _Evidence(read_question(question), self.statements)
        return self.read[question]

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

    def find(self, question: str, yes_no: bool = False, one_text: bool = False) -> _Finding:
        """Find the best answer: yes or no, whatever the question looks like, where `yes_no` says so.

        If the statements are `one_text`, all of them are one chain, and nothing is compared within it.
        """
        if answer := self.known.get(key(question)):
            return _Finding(answer, 1.0, covered=1.0, complete=True)
        evidence = self.evidence(question)
        if not one_text and (parts := self._parts(evidence)):
            return self._compare(evidence, parts)
        if yes_no or evidence.question.kind == "yes_no":
            return _judge_claim(evidence)
        return _best(evidence, one_text)

    def _parts(self, evidence: _Evidence) -> list[str]:
        persons = frozenset(s.name for s in self.statements if "(born " in s.plain[:400])
        return compared_parts(evidence.question, self._sides(evidence), persons)

    def _sides(self, evidence: _Evidence) -> list[str]:
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

    def _compare(self, evidence: _Evidence, parts: Sequence[str]) -> _Finding:
        """Answer both parts, and compare the answers: which comes first, or whether they are equal."""
        facts, question = [self._find_part(part) for part in parts], evidence.question
        used = tuple(dict.fromkeys(statement for fact in facts for statement in fact.used))
        is_claim = question.kind == "yes_no"
        if missing := tuple(each for fact in facts for each in fact.missing):
            return _Finding("no" if is_claim and used else "", 0.0, used, missing, 1.0, True)
        if is_claim and not question.orders:
            text = "yes" if key(facts[0].text) == key(facts[1].text) else "no"
        else:
            days = [date_key(fact.text) for fact in facts]
            second = days[1] > days[0] if question.wants_latest else days[1] < days[0]
            text = ("no" if second else "yes") if is_claim else self._side(self._sides(evidence)[second])
        return _Finding(text, _COMPARED, used, (), 1.0, True)

    def _find_part(self, part: str) -> _Finding:
        """Answer a part of a comparison by way of what it describes; only sure answers count."""
        used: tuple[ParsedStatement, ...] = ()
        asked = next(iter(described(part).items()), None)
        if asked and not self.known.get(key(part)):
            found = self._look_up(asked[1])
            if not found.text:
                return _Finding(missing=(asked[1],))
            part, used = part.replace(asked[0], found.text, 1), found.used
        found = self._look_up(part)
        return _Finding(found.text, used=(*used, *found.used)) if found.text else _Finding(missing=(part,))

    def _look_up(self, question: str) -> _Finding:
        """Answer a question about one name from the statements about it; empty if they do not say it."""
        anchors = self.evidence(question).anchors
        name = max((name for name, anchor in anchors.items() if anchor == 1.0), key=len, default="")
        about = [s for s in self.statements if s.key == name != ""]
        if "country" in question or "nationality" in question:
            told = next((s for s in about if s.demonym), None)
            if told and key(question) not in self.known:
                return _Finding(told.demonym, used=(told,))
        found = _Reader(about, self.known).find(question, one_text=True)
        return found if found.complete else _Finding()

    def _side(self, side: str) -> str:
        """Return a side as named in an answer: for "the director of X" the director."""
        return self._look_up(f"Who is {side}?").text if described(f"Is it {side}?") else side


def _judge_claim(evidence: _Evidence) -> _Finding:
    """Say yes when the statements about the question's subject, or about both of two, carry what it says."""
    about = [(at, s) for at, s in enumerate(evidence.statements) if evidence.anchors.get(s.key) == 1.0]
    if not about:
        return _Finding(missing=(evidence.question.text,))
    claim = evidence.open
    _, best = max(about, key=lambda row: (len(evidence.own[row[0]] & claim), -row[0]))
    carried: dict[str, frozenset[str]] = {}
    for at, statement in about:
        subject = statement.key if "both" in evidence.question.words else ""
        carried[subject] = carried.get(subject, frozenset()) | evidence.own[at]
    whole = all(len(claim & each) > _MIN_SHARED * len(claim) for each in carried.values())
    yes = whole and not _NOT.search(best.plain)
    return _Finding("yes" if yes else "no", _COMPARED, (best,), (), 1.0, True)


def _best(evidence: _Evidence, one_text: bool) -> _Finding:
    """Return the candidate with the highest score; its probability is its share of all of them.

    A chain that carries not one word of the names in the question is about something else and is left out.
    """
    whole = frozenset[str]().union(*evidence.own)
    named = frozenset[str]().union(*(terms(name) for name in evidence.question.names))
    every = evidence.candidates()
    found = [c for c in every if not named or not named.isdisjoint(whole if one_text else evidence.carried[c.at])]
    if not found:
        return _Finding()
    best, weights = found[0], [exp(other.score - found[0].score) for other in found]
    same = sum(w for w, other in zip(weights, found, strict=True) if key(other.text) == key(best.text))
    chain = evidence.chains[best.at]
    carried = whole if one_text else evidence.carried[best.at]
    hops = 1 + len(described(evidence.question.text))
    long = one_text or len(chain) >= min(2, hops)
    used = tuple(evidence.statements[link] for link in chain)
    return _Finding(best.text, same / sum(weights), used, (), evidence.cover(carried), long and best.fits)


@dataclass(frozen=True)
class RuleReader:
    """Plays a prompt with rules of English grammar; it has no memory, and errs as rules do."""

    prompt: ParsedPrompt

    def with_question(self, question: str) -> Self:
        """Return the reader of the same prompt with another question."""
        return replace(self, prompt=self.prompt.with_question(question))

    @cached_property
    def _shown(self) -> list[ParsedStatement]:
        return read_passages(self.prompt.passages)

    def _reader(self, given: PromptContents) -> tuple[_Reader, str]:
        """Return the given blocks, and the question with the names from earlier answers."""
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
        reader = _Reader(sorted(statements.values(), key=lambda each: each.number), known)
        return reader, reader.resolve(self.prompt.question)

    def _find(self, given: PromptContents) -> _Finding:
        reader, question = self._reader(given)
        if not self.prompt.question:
            return _Finding()
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
        found: dict[StatedFact, None] = {}
        for evidence in map(reader.evidence, dict.fromkeys((question, *queries))):
            scored: list[tuple[float, int]] = []
            for at, statement in enumerate(evidence.statements):
                own, linked = evidence.cover(evidence.own[at]), evidence.cover(evidence.carried[at])
                anchor = evidence.anchors.get(statement.key, 0.0)
                if linked > 0:
                    scored.append((own + 0.3 * anchor + 0.3 * linked + 0.2 * (statement.place == 0), -at))
            best = sorted(scored, reverse=True)[:_MAX_FACTS]
            found |= dict.fromkeys(_fact(evidence.statements[-at]) for _, at in best)
        return [*found]

    def answer(self, given: PromptContents) -> PlayerAnswer:
        """Answer from the statements; only a sure answer counts where another search may follow."""
        found = self._find(given)
        reads = found.sure or (given.wants != "sure" and (found.used or given.wants == "last"))
        numbers = {text: number for number, text in self.prompt.items("information")}
        return PlayerAnswer(
            found.text if reads else "",
            tuple(map(_fact, found.used)) if reads else (),
            tuple(sorted({statement.passage for statement in found.used if statement.passage})),
            tuple(numbers[s.whole] for s in found.used if s.whole in numbers),
            max(1, round(5 * found.probability)),
        )

    def next_questions(self, given: PromptContents, asked: list[str]) -> list[str]:
        """Return up to 20 questions and queries not asked yet, best first; may be empty."""
        reader, question = self._reader(given)
        said = {key(line.partition("? ")[0]) for line in asked}
        fresh = dict[str, str]()
        for text in (*(reader.find(question).missing or _next_links(reader, question)), question):
            if key(text) and key(text) not in said:
                fresh.setdefault(key(text), text.strip())
        return [*fresh.values()][:_MAX_QUERIES]

    def parts(self, in_order: bool) -> list[str]:
        """Decompose the question by its grammar."""
        return split_question(self.prompt.question, in_order)

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return the judgement as it is."""
        del judgement, number
        return right


def _next_links(reader: _Reader, question: str) -> Iterator[str]:
    """Yield what is described, unknown names, and the names that the evidence reached."""
    evidence = reader.evidence(question)
    for phrase, asked in list(described(question).items())[:1]:
        found = reader.find(asked)
        if found.sure:
            yield question.replace(phrase, found.text, 1)
        elif key(asked) not in reader.known:
            yield asked
    if reader.statements:
        every = " \n ".join(evidence.anchors)
        yield from [name for name in evidence.question.names if key(name) not in every][:2]
    for value, name, at in sorted(evidence.reached(), key=lambda row: -row[0]):
        if value >= _MIN_REACHED:
            yield f"{name} {evidence.open_word(at)}"


def _fact(statement: ParsedStatement) -> StatedFact:
    return StatedFact(statement.whole, statement.whole if statement.passage else "", statement.passage)
