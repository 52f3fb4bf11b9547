"""Rename people, places and works throughout a data set, so that its questions cannot be answered from memory.

One map renames passages, questions, answers, decompositions, triples and facts word by word; case and everything
between the words (possessives, hyphens, qualifiers, punctuation) stay. Names are found in any case; titles of common
words only if they are long, match the capitalization, or are the text's subject, to avoid chance matches. Yes and no,
numbers and dates stay; so do demonyms ("Canadian"), a leak that no rule closes. Titles that differ only in case
(`MacLean`, `Maclean`) get the same name.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from re import Match
from typing import NamedTuple

from hopgraph.state import RunError
from hopgraph.tools.apps.evaluation.eval_questions import ContextPassage, EvalQuestion, GoldHop, GoldSentence
from hopgraph.tools.apps.evaluation.named_titles import (
    TITLE_WORD,
    NameMap,
    Vocabulary,
    Words,
    base_of,
    casefold_words,
    is_function_word,
    is_generic,
    split_words,
)
from hopgraph.tools.io.guarded_files import read_source, write_files
from hopgraph.tools.retrieval.corpora import SourceRecord, hash_passage

NAME_MAP = "renaming.json"
_ARTICLES = frozenset({"the", "a", "an"})
_CLOSED = frozenset({"yes", "no", "noanswer"})
_VERBS = frozenset({"is", "was", "are", "were", "has", "had"})
_SENTENCE_END = re.compile(r"[.!?:;\"“”\n]|^\s*$")
_MAX_GAP = 3  # characters between two words of one name
_LONG_TITLE = 3  # words from which a title is found in any case, as a chance match is unlikely


class _Edit(NamedTuple):
    start: int
    end: int
    new: str


class _Phrase(NamedTuple):
    """A title with common words, without its article."""

    old: Words
    written: Words
    """The words as in the title, with capitals."""
    new: Words


class Renamer:
    """Renames texts by a map of names that is deterministic in the corpus and seed."""

    def __init__(self, records: Iterable[SourceRecord], seed: int) -> None:
        self.names = names = NameMap(Vocabulary(records), seed)
        self._phrases: dict[str, list[_Phrase]] = defaultdict(list)
        for old, written in sorted(names.written.items(), key=lambda each: (-len(each[0]), each[0])):
            skip = 1 if old[0] in _ARTICLES and len(old) > 2 else 0
            self._phrases[old[skip]].append(_Phrase(old[skip:], written[skip:], names.titles[old][skip:]))

    def text(self, text: str, *, about: Iterable[str] = ()) -> str:
        """Rename a text; also surnames that are common words, if their owner is named in a title of `about`."""
        return _apply(text, self._edits(text, about))

    def title(self, title: str) -> str:
        """Rename a passage's title, and the names in its qualifier."""
        base = base_of(title)
        return (self._as_title(base) or self.text(base)) + self.text(title[len(base) :])

    def answer(self, answer: str, gold: Iterable[ContextPassage] = ()) -> str:
        """Rename an answer: as a title, else as in a gold passage that contains it, else as a text; yes and no stay."""
        if not answer.strip() or answer.strip().casefold() in _CLOSED:
            return answer
        base = base_of(answer)
        if whole := self._as_title(base):
            return whole + self.text(answer[len(base) :])
        whole_words = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)")
        for passage in gold:
            if found := whole_words.search(passage.text):
                return self._cut(passage, *found.span())
        return self.text(answer)

    def _as_title(self, base: str) -> str:
        """Rename a text that is a title, with or without its article; empty if it is not."""
        words = casefold_words(split_words(base))
        new = self.names.titles.get(words) or self.names.titles.get(("the", *words), ())[1:]
        return _apply(base, list(map(_edit, TITLE_WORD.finditer(base), new))) if new else ""

    def passage(self, passage: ContextPassage) -> ContextPassage:
        """Rename a passage; an id that is the hash of the text becomes that of the new text, other ids stay."""
        title, text = self.title(passage.title), self.text(passage.text, about=(passage.title,))
        is_hashed = passage.id == hash_passage(passage.title, passage.text)
        return ContextPassage(hash_passage(title, text) if is_hashed else passage.id, title, text)

    def record(self, each: SourceRecord) -> SourceRecord:
        """Rename a passage of a corpus."""
        return each._replace(**self.passage(ContextPassage(each.id, each.title, each.text))._asdict())

    def question(self, question: EvalQuestion) -> EvalQuestion:
        """Rename a question with its answers and all annotations."""
        about, texts = question.gold_titles, {each.id: each for each in question.contexts}
        gold = [each for each in question.contexts if each.id in question.gold]
        contexts = tuple(map(self.passage, question.contexts))
        ids = {old.id: new.id for old, new in zip(question.contexts, contexts, strict=True)}

        def new_ids(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(ids.get(name, name) for name in names)

        hops = (
            GoldHop(self.text(hop.question, about=about), self.answer(hop.answer, gold), new_ids(hop.passage_ids))
            for hop in question.hops
        )
        triples = ((self.answer(one, gold), name, self.answer(other, gold)) for one, name, other in question.triples)
        answers = dict.fromkeys(self.answer(each, gold) for each in question.answers or ())
        return replace(
            question,
            question=self.text(question.question, about=about),
            answers=None if question.answers is None else tuple(answers),
            gold=new_ids(question.gold),
            gold_titles=tuple(map(self.title, about)),
            sentences=tuple(
                GoldSentence(ids.get(each.passage_id, each.passage_id), self._sentence(each, texts))
                for each in question.sentences
            ),
            hops=tuple(hops),
            triples=tuple(triples),
            facts=tuple(self.text(fact, about=about) for fact in question.facts),
            contexts=contexts,
        )

    def _sentence(self, sentence: GoldSentence, texts: Mapping[str, ContextPassage]) -> str:
        """Cut a sentence out of the renamed passage, so that both agree verbatim."""
        passage = texts.get(sentence.passage_id)
        if passage is None or (start := passage.text.find(sentence.text)) < 0:
            return self.text(sentence.text)
        return self._cut(passage, start, start + len(sentence.text))

    def _cut(self, passage: ContextPassage, start: int, end: int) -> str:
        """Rename a passage and return the part that was at `start` to `end`, which lie between words."""
        return _apply(passage.text, self._edits(passage.text, (passage.title,)), start, end)

    def _edits(self, text: str, about: Iterable[str] = ()) -> list[_Edit]:
        words = list(TITLE_WORD.finditer(text))
        uncased = not any(word[0][0].isupper() for word in words[1:])
        surnames: dict[str, str] = {}  # common words that are surnames of people already named in full
        subjects: set[Words] = set()
        for title in about:
            subjects.add(subject := casefold_words(split_words(base_of(title))))
            surnames |= self.names.surnames.get(subject, {})
        edits: list[_Edit] = []
        place = 0
        while place < len(words):
            if phrase := self._phrase_at(text, words, place, subjects, uncased=uncased):
                new = phrase.new
                surnames |= self.names.surnames.get(phrase.old, {})
            else:
                new = self._word(words[place], text, surnames, uncased=uncased)
            edits += map(_edit, words[place : place + len(new)], new)
            place += max(1, len(new))
        return edits

    def _word(self, found: Match[str], text: str, surnames: Mapping[str, str], *, uncased: bool) -> Words:
        """Return a word's new form, also of a plural (`the Kennedys`) or possessive; empty if the word stays."""
        small, capital = found[0].casefold(), found[0][0].isupper()
        if new := self.names.words.get(small) or (surnames.get(small) if capital else None):
            return (new,)
        if not (capital or uncased):
            return ()
        if _is_possessive(text, found) and (new := self.names.words.get(f"{small}s")):
            return (new,)
        singular = self.names.words.get(small[:-1]) if small.endswith("s") and len(small) > 4 else None
        return (f"{singular}s",) if singular else ()

    def _phrase_at(
        self, text: str, words: Sequence[Match[str]], place: int, subjects: set[Words], *, uncased: bool
    ) -> _Phrase | None:
        first = words[place][0].casefold()
        for phrase in (*self._phrases.get(first, ()), *self._phrases.get(f"{first}s", ())):
            found = words[place : place + len(phrase.old)]
            if len(found) < len(phrase.old) or not _is_named(text, found, phrase, uncased=uncased):
                continue
            is_subject = phrase.old in subjects and not is_generic(first)
            if len(found) > 1 or is_subject or found[0][0].isupper() or _stands_alone(text, words, place):
                return phrase
        return None


def _is_named(text: str, found: Sequence[Match[str]], phrase: _Phrase, *, uncased: bool) -> bool:
    """Return whether these words of a text are a title: the same words, close together, with the same capitalization.

    Case is ignored in a text without capitals, and for a long title. `Big Eye's` also counts as the possessive of
    `Big Eyes`.
    """
    any_case = uncased or len(phrase.old) >= _LONG_TITLE
    for number, (word, old, written) in enumerate(zip(found, phrase.old, phrase.written, strict=True)):
        small, is_last = word[0].casefold(), number == len(found) - 1
        if small != old and not (is_last and f"{small}s" == old and _is_possessive(text, word)):
            return False
        if number and word.start() - found[number - 1].end() > _MAX_GAP:
            return False
        if not (any_case or is_function_word(old) or word[0][0].isupper() == written[0].isupper()):
            return False
    return not uncased or len(found) > 1 or found[0][0][0].isupper()


def _is_possessive(text: str, word: Match[str]) -> bool:
    return text[word.end() : word.end() + 2] in ("'s", "\u2019s")


def _stands_alone(text: str, words: Sequence[Match[str]], place: int) -> bool:
    """Return whether a capitalized word is neither part of a longer name nor capitalized as a sentence start."""
    before, after = text[: words[place].start()], text[words[place].end() :]
    following = words[place + 1][0] if place + 1 < len(words) else ""
    if following and not after.startswith(f" {following}"):
        following = ""  # separated by a sign, as in a decomposition's `Brother >> performer`
    if _SENTENCE_END.search(before[-2:] if before else " "):
        return not following or following in _VERBS
    is_in_name = place > 0 and words[place - 1][0][0].isupper() and before.endswith(" ") and place > 1
    return not (is_in_name or following[:1].isupper())


def _edit(word: Match[str], new: str) -> _Edit:
    """Return an edit to a new word in the old one's case: upper, lower, or else the new word's."""
    old = word[0]
    if len(old) > 1 and old.isupper():
        new = new.upper()
    return _Edit(*word.span(), new.lower() if old.islower() else new)


def _apply(text: str, edits: Sequence[_Edit], start: int = 0, end: int | None = None) -> str:
    """Return a text's part from `start` to `end` with the edits that lie within it; edits are in order."""
    parts: list[str] = []
    end = len(text) if end is None else end
    for edit in edits:
        if start <= edit.start and edit.end <= end:
            parts += [text[start : edit.start], edit.new]
            start = edit.end
    return "".join([*parts, text[start:end]])


def write_name_map(path: Path, renaming: Renamer) -> None:
    """Write the map from old to new names; OSError if it cannot be written."""
    names = renaming.names
    titles = [{"old": " ".join(old), "new": " ".join(new)} for old, new in names.titles.items()]
    record = {"seed": names.seed, "words": names.words, "titles": titles}
    write_files({path: f"{json.dumps(record, ensure_ascii=False, indent=1)}\n".encode()}, private=True)


def read_name_map_seed(path: Path) -> int | None:
    """Return the seed of a written map; None if there is no file, RunError if it is damaged."""
    try:
        return int(json.loads(read_source(path))["seed"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        raise RunError(f"{path}: cannot be read: {error}; start a new run in another folder") from None
