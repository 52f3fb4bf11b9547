"""The rules of the rule-based model; they use only the statements in the prompt."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log
from typing import NamedTuple, Self

from hopgraph.tools.models.offline.question import (
    Question,
    find_descriptions,
    read_question,
    split_comparison,
    split_question,
)
from hopgraph.tools.models.offline.statements import (
    ParsedStatement,
    Span,
    parse_date,
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
"""Answer type → shapes that fit, and shapes that may fit; other types accept every shape."""
_ANSWERED_BLOCKS = ("history", "sub_answers")
"""List blocks of questions with answers; all others have statements."""
_SUPPORT = re.compile(r" \((?:source|because): ")  # after an earlier answer
_NOT = re.compile(r"\b(?:not|never|no longer|neither|nor|without)\b")
_MIN_SURE = 1.2
"""Minimum sum of coverage and probability; above, about 3 of 4 answers were right in the tuning halves."""
_COMPARED = 0.9
"""Probability of a comparison's or a claim's answer: its facts were found, but may be misread."""
_MIN_SHARED = 0.5  # for a yes, statements about the subject must have more than this share of the claim's terms
_MIN_REACHED = 0.6  # minimum score of a name to ask about
_MAX_FACTS = 8
_MAX_QUERIES = 20


class _Candidate(NamedTuple):
    """A candidate answer in a statement."""

    text: str
    at: int  # index of the statement in the evidence
    fits: bool  # it may have the answer type
    score: float


class _Evidence:
    """A question and statements; two are linked if one mentions the name that the other is about."""

    def __init__(self, question: Question, statements: Sequence[ParsedStatement]) -> None:
        self.question, self.statements = question, statements
        self.weights = self._weigh()
        # The question's terms in each statement.
        self.own = [statement.terms & frozenset(self.weights) for statement in statements]
        # How well each statement's name matches the question: 1 if verbatim, else the share of its terms.
        self.anchors: dict[str, float] = {}
        for name in dict.fromkeys(s.key for s in statements if len(s.key) > 2):
            own, is_whole = terms(name), f" {name} " in question.flat
            self.anchors[name] = 1.0 if is_whole else len(own & question.terms) / len(own) if own else 0.0
        # The question's terms outside the titles in it, i.e. what it asks about them.
        named = (terms(name) for name, anchor in self.anchors.items() if anchor == 1.0)
        self.open = frozenset(self.weights) - frozenset[str]().union(*named)

    def _weigh(self) -> dict[str, float]:
        """Return the weights of the question's terms, which add up to 1; rare terms and names weigh more."""
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
        """Return the total weight of these terms in the question, from 0 to 1."""
        return sum(weight for stem, weight in self.weights.items() if stem in found)

    @cached_property
    def carried(self) -> list[frozenset[str]]:
        """The question's terms in the best chain that ends with each statement."""
        return [frozenset[str]().union(*(self.own[link] for link in chain)) for chain in self.chains]

    @cached_property
    def chains(self) -> list[tuple[int, ...]]:
        """The best chain that ends with each statement: itself, perhaps after one that mentions its name.

        Names in the question do not link statements.
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
        """Return the share of the open terms next to the name that links a chain."""
        if len(chain) == 1 or not self.open:
            return 0.0
        before, name = self.statements[chain[0]].flat, f" {self.statements[chain[1]].key} "
        at = before.find(name)
        near = before[max(0, at - 25) : at] + " " + before[at + len(name) : at + len(name) + 25]
        return self.cover(terms(near) & self.open) / self.cover(self.open)

    def candidates(self) -> list[_Candidate]:
        """Return the candidate answers, best first; ties are in the order of the statements."""
        found: list[_Candidate] = []
        kind = self.question.kind
        # Names in sentences: a title is a candidate only if it is one. A single first word does not count.
        every = (span for statement in self.statements for span in statement.spans if span.kind == "name")
        mentioned = {key(span.text) for span in every if span.start or " " in span.text}
        wanted = {"date": {"date"}, "number": {"number"}}.get(kind, {"name", "quoted"})
        for at, statement in enumerate(self.statements):
            spans = [span for span in statement.spans if kind == "thing" or span.kind in wanted]
            if kind == "date":
                spans += [s for s in statement.spans if s.kind == "number" and re.fullmatch(r"\d{3,4}", s.text)]
            if statement.key in mentioned and kind not in ("date", "number"):
                spans.append(Span(statement.name, -1, "name"))
            for span in (*spans, *self._noun_phrases(statement)):
                name = key(span.text)
                is_first_word = span.kind == "name" and not span.start and name not in mentioned
                if not is_first_word and name and f" {name} " not in self.question.flat:
                    fits, score = self._score(at, span)
                    found.append(_Candidate(self._answer_text(statement, span), at, fits, score))
        return sorted(found, key=lambda candidate: -candidate.score)

    def _noun_phrases(self, statement: ParsedStatement) -> list[Span]:
        """Return phrases that end with the noun asked for, e.g. "platform team" for "which team"."""
        noun = self.question.noun
        if self.question.kind != "thing" or not noun:
            return []
        phrase = rf"\b(?:[Tt]he|[Aa]n?) ((?:[\w-]{{1,30}} ){{1,2}}{re.escape(noun)})\b"
        return [Span(found[1], found.start(1), "kind") for found in re.finditer(phrase, statement.plain)]

    def _answer_text(self, statement: ParsedStatement, span: Span) -> str:
        """Return a span as an answer: only the year if that is asked for; a number in a table with its unit."""
        day = parse_date(span.text) if span.kind == "date" and self.question.noun == "year" else None
        if day and day[0]:
            return str(day[0])
        units = [cell for cell in statement.cells.values() if re.fullmatch(r"[A-Z]{3}|[$£€%]", cell)]
        return f"{span.text} {units[0]}" if span.kind == "number" and span.label and len(units) == 1 else span.text

    def _score(self, at: int, span: Span) -> tuple[bool, float]:
        """Return whether a span may have the answer type, and its score.

        The weights of its shape, the chain that leads to it and the question's terms near it are from a listwise
        logistic regression on the first halves of the training samples of HotpotQA, 2WikiMultihopQA and MuSiQue.
        """
        question, statement, in_span = self.question, self.statements[at], terms(span.text)
        shape = _shape(statement, span)
        fitting, possible = _FITTING.get(question.kind, ({shape}, set[str]()))
        fits = shape in fitting | possible
        carried, own = self.carried[at] - in_span, self.own[at] - in_span
        start, noun = max(0, span.start), term(question.noun)
        near = terms(span.label or statement.plain[max(0, start - 25) : start])
        if question.kind in ("person", "number") and not span.label:
            near |= terms(" ".join(WORD.findall(statement.plain[start + len(span.text) :][:40])[:2]))
        by_shape = 0.0 if question.kind not in _FITTING else 1.52 if shape in fitting else 0.0 if fits else -1.49
        in_chain = 1.55 * self.anchors.get(self.statements[self.chains[at][0]].key, 0.0)
        next_to = near & (self.open | {noun}) if span.start >= 0 else frozenset[str]()
        around = 1.40 * bool(noun and noun in statement.terms) + 1.50 * bool(next_to)
        cover = 1.83 * self.cover(carried) + 1.43 * self.cover(carried & self.open) + 1.31 * self.cover(own & self.open)
        return fits, by_shape + in_chain + around + cover + 2.0 * self._linked_by(self.chains[at])

    def reached(self) -> Iterator[tuple[float, str, int]]:
        """Yield (score, name, statement) for names that are in the evidence but not in the question.

        The score depends on the chain that leads to the statement, and on a term of the question right before the
        name; it is lower if statements are about the name already.
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
        """Return the open word with the largest weight that a statement's chain lacks, preferably not the noun."""
        noun, lacking = term(self.question.noun), self.open - self.carried[at]
        left = [word for word in WORD.findall(self.question.text) if term(word) in lacking]
        return max(left, key=lambda word: (term(word) != noun, self.weights[term(word)]), default="")


def _shape(statement: ParsedStatement, span: Span) -> str:
    """Return the shape of a span: person, place, name, quoted, date, number or kind."""
    words = span.text.split()
    if span.kind != "name":
        return span.kind
    if ", " in span.text or _IN.search(statement.plain[max(0, span.start - 12) : max(0, span.start)]):
        return "place"
    return "person" if 2 <= len(words) <= 3 and words[0] != "The" else "name"


@dataclass(frozen=True)
class _Finding:
    """An answer with its probability, support, and missing facts."""

    text: str = ""
    probability: float = 0.0
    used: tuple[ParsedStatement, ...] = ()
    missing: tuple[str, ...] = ()  # questions of a comparison without an answer yet
    covered: float = 0.0  # share of the question's term weight in the chain, from 0 to 1
    complete: bool = False  # the chain has as many hops as the question, and the answer fits its type

    @property
    def sure(self) -> bool:
        """Return whether the chain is complete, and coverage plus probability reach the threshold."""
        return bool(self.text) and self.complete and not self.missing and self.covered + self.probability >= _MIN_SURE


@dataclass(frozen=True)
class _Reader:
    """Finds answers in statements and earlier answers."""

    statements: Sequence[ParsedStatement]
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """Question key → answer, which may be empty."""
    read: dict[str, _Evidence] = field(default_factory=dict[str, _Evidence])
    """Question → evidence (a cache)."""

    def evidence(self, question: str) -> _Evidence:
        if question not in self.read:
            self.read[question] = _Evidence(read_question(question), self.statements)
        return self.read[question]

    def resolve(self, question: str) -> str:
        """Replace descriptions in the question with known answers; comparisons resolve each side by themselves."""
        if self._parts(self.evidence(question)):
            return question
        for _ in self.known:  # an answer may itself be a description, even of itself
            known = ((phrase, self.known.get(key(asked), "")) for phrase, asked in find_descriptions(question).items())
            phrase, answer = next((each for each in known if each[1]), ("", ""))
            if not answer:
                break
            question = question.replace(phrase, answer, 1)
        return question

    def find(self, question: str, yes_no: bool = False, one_text: bool = False) -> _Finding:
        """Return the best answer; yes or no if `yes_no` is set, or the question asks for it.

        With `one_text`, all statements are one chain, and nothing is compared.
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
        return split_comparison(evidence.question, self._sides(evidence), persons)

    def _sides(self, evidence: _Evidence) -> list[str]:
        """Return the two things that the question compares: its options, else titles and names in it."""
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
        """Answer both parts and compare the answers: which is first, or whether they are equal."""
        facts, question = [self._find_part(part) for part in parts], evidence.question
        used = tuple(dict.fromkeys(statement for fact in facts for statement in fact.used))
        is_claim = question.kind == "yes_no"
        if missing := tuple(each for fact in facts for each in fact.missing):
            return _Finding("no" if is_claim and used else "", 0.0, used, missing, 1.0, True)
        if is_claim and not question.orders:
            text = "yes" if key(facts[0].text) == key(facts[1].text) else "no"
        else:
            days = [parse_date(fact.text) for fact in facts]
            second = days[1] > days[0] if question.wants_latest else days[1] < days[0]
            text = ("no" if second else "yes") if is_claim else self._side(self._sides(evidence)[second])
        return _Finding(text, _COMPARED, used, (), 1.0, True)

    def _find_part(self, part: str) -> _Finding:
        """Answer a part of a comparison after resolving its description."""
        used: tuple[ParsedStatement, ...] = ()
        asked = next(iter(find_descriptions(part).items()), None)
        if asked and not self.known.get(key(part)):
            found = self._look_up(asked[1])
            if not found.text:
                return _Finding(missing=(asked[1],))
            part, used = part.replace(asked[0], found.text, 1), found.used
        found = self._look_up(part)
        return _Finding(found.text, used=(*used, *found.used)) if found.text else _Finding(missing=(part,))

    def _look_up(self, question: str) -> _Finding:
        """Answer a question about a name from the statements about that name; may be empty."""
        anchors = self.evidence(question).anchors
        name = max((name for name, anchor in anchors.items() if anchor == 1.0), key=len, default="")
        about = [s for s in self.statements if s.key == name != ""]
        if "country" in question or "nationality" in question:
            source = next((s for s in about if s.demonym), None)
            if source and key(question) not in self.known:
                return _Finding(source.demonym, used=(source,))
        found = _Reader(about, self.known).find(question, one_text=True)
        return found if found.complete else _Finding()

    def _side(self, side: str) -> str:
        """Return the name of a side; for "the director of X", that of the director."""
        return self._look_up(f"Who is {side}?").text if find_descriptions(f"Is it {side}?") else side


def _judge_claim(evidence: _Evidence) -> _Finding:
    """Answer yes if the statements about the subject (each of them after "both") have most of the claim's terms."""
    about = [(at, s) for at, s in enumerate(evidence.statements) if evidence.anchors.get(s.key) == 1.0]
    if not about:
        return _Finding(missing=(evidence.question.text,))
    claim = evidence.open
    _, best = max(about, key=lambda row: (len(evidence.own[row[0]] & claim), -row[0]))
    carried: dict[str, frozenset[str]] = {}
    for at, statement in about:
        subject = statement.key if "both" in evidence.question.words else ""
        carried[subject] = carried.get(subject, frozenset()) | evidence.own[at]
    has_most = all(len(claim & each) > _MIN_SHARED * len(claim) for each in carried.values())
    yes = has_most and not _NOT.search(best.plain)
    return _Finding("yes" if yes else "no", _COMPARED, (best,), (), 1.0, True)


def _best(evidence: _Evidence, one_text: bool) -> _Finding:
    """Return the candidate with the highest score, with its softmax probability.

    Candidates whose chain shares no term with the names in the question are skipped.
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
    hops = 1 + len(find_descriptions(evidence.question.text))
    is_long = one_text or len(chain) >= min(2, hops)
    used = tuple(evidence.statements[link] for link in chain)
    return _Finding(best.text, same / sum(weights), used, (), evidence.cover(carried), is_long and best.fits)


@dataclass(frozen=True)
class RuleReader:
    """A player that uses rules of English grammar; it has no memory."""

    prompt: ParsedPrompt

    def with_question(self, question: str) -> Self:
        """Return a reader of the same prompt with another question."""
        return replace(self, prompt=self.prompt.with_question(question))

    @cached_property
    def _shown(self) -> list[ParsedStatement]:
        return read_passages(self.prompt.passages)

    def _reader(self, given: PromptContents) -> tuple[_Reader, str]:
        """Return a reader of the given blocks, and the question with known answers inserted."""
        known: dict[str, str] = {}
        for _, line in (item for name in _ANSWERED_BLOCKS if name in given.lists for item in self.prompt.items(name)):
            asked, _, rest = line.partition("? ")
            answer = _SUPPORT.split(rest, maxsplit=1)[0].removesuffix(" (not grounded)")
            known[key(asked)] = "" if answer == "unknown" or not key(answer) else answer
        shown = self._shown if given.passages else []
        texts = (text for name in given.lists if name not in _ANSWERED_BLOCKS for _, text in self.prompt.items(name))
        statements = {statement.standalone: statement for statement in reversed(shown)}
        for number, text in enumerate(texts, start=len(shown) + 1):
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
        """Return the passages that support the answer or have a name of the question; without names, useful ones."""
        asked = [key(name) for name in read_question(self.prompt.question).names]
        used = (
            {s.passage for s in self._find(PromptContents()).used}
            if asked
            else {f.passage for f in self.facts(PromptContents())}
        )
        texts = {each.number: key(f"{each.title} {each.text}") for each in self.prompt.passages}
        return [number for number, text in texts.items() if number in used or any(name in text for name in asked)]

    def facts(self, given: PromptContents) -> list[StatedFact]:
        """Return the useful sentences, best first; may be empty.

        The score depends on the question's terms in the sentence and its chain, and on how well its title matches the
        question; the first sentence of a passage, which usually defines its title, scores higher. Sentences that help
        with one of the prompt's queries are included.
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
                    scored.append((own + 0.3 * anchor + 0.3 * linked + 0.2 * (statement.position == 0), -at))
            best = sorted(scored, reverse=True)[:_MAX_FACTS]
            found |= dict.fromkeys(_fact(evidence.statements[-at]) for _, at in best)
        return [*found]

    def answer(self, given: PromptContents) -> PlayerAnswer:
        """Answer from the statements; if another search may follow, only with a sure answer."""
        found = self._find(given)
        is_used = found.sure or (given.wants != "sure" and (found.used or given.wants == "last"))
        numbers = {text: number for number, text in self.prompt.items("information")}
        return PlayerAnswer(
            found.text if is_used else "",
            tuple(map(_fact, found.used)) if is_used else (),
            tuple(sorted({statement.passage for statement in found.used if statement.passage})),
            tuple(numbers[s.standalone] for s in found.used if s.standalone in numbers),
            max(1, round(5 * found.probability)),
        )

    def next_questions(self, given: PromptContents, asked: list[str]) -> list[str]:
        """Return up to 20 new questions and queries, best first."""
        reader, question = self._reader(given)
        old = {key(line.partition("? ")[0]) for line in asked}
        new = dict[str, str]()
        for text in (*(reader.find(question).missing or _next_links(reader, question)), question):
            if key(text) and key(text) not in old:
                new.setdefault(key(text), text.strip())
        return [*new.values()][:_MAX_QUERIES]

    def parts(self, in_order: bool) -> list[str]:
        """Decompose the question by grammar rules."""
        return split_question(self.prompt.question, in_order)

    def judges(self, judgement: str, right: bool, number: int = 0) -> bool:
        """Return `right` unchanged."""
        del judgement, number
        return right


def _next_links(reader: _Reader, question: str) -> Iterator[str]:
    """Yield questions and queries for descriptions, unknown names, and names reached in the evidence."""
    evidence = reader.evidence(question)
    for phrase, asked in list(find_descriptions(question).items())[:1]:
        found = reader.find(asked)
        if found.sure:
            yield question.replace(phrase, found.text, 1)
        elif key(asked) not in reader.known:
            yield asked
    if reader.statements:
        every = " \n ".join(evidence.anchors)
        yield from [name for name in evidence.question.names if key(name) not in every][:2]
    for score, name, at in sorted(evidence.reached(), key=lambda row: -row[0]):
        if score >= _MIN_REACHED:
            yield f"{name} {evidence.open_word(at)}"


def _fact(statement: ParsedStatement) -> StatedFact:
    return StatedFact(statement.standalone, statement.standalone if statement.passage else "", statement.passage)
