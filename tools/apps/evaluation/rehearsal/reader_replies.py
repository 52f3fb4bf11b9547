"""What the rehearsal model replies to each step that judges, collects or answers, as plain JSON data."""

from collections import Counter
from collections.abc import Mapping

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.rehearsal.hop_matching import NOTHING, UNANSWERABLE
from hopgraph.tools.apps.evaluation.rehearsal.prompt_case import Case
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import bare, holds, keyed
from hopgraph.tools.models.offline.prompt_blocks import Passage, unescape
from hopgraph.tools.text import content_terms, split_sentences

Reply = dict[str, JsonValue]
SAID = "So the answer is: "
LONGEST = 1_500
"""Characters of a quotation; a thought or analysis that is much longer is refused."""


def relevant(case: Case) -> list[Passage]:
    """Judge each passage by itself: it is relevant when it tells something that the answer needs."""
    return [
        each for each in case.prompt.passages if (each.number in case.by_passage) != case.errs("relevant", each.number)
    ]


def reasoned(case: Case, known: Mapping[int, str]) -> str:
    """Write a chain of thought: what is known, and what has to be found next."""
    steps = case.statements(known)
    left = [f"It is not known yet: {each}" for each in case.open_questions(known)[:1]]
    return " ".join([*steps, *left])[:LONGEST]


def shown_for(case: Case, known: Mapping[int, str]) -> list[JsonValue]:
    """Return the numbers of the passages that tell what is known."""
    told = {n for n, found in case.by_passage.items() if any(each.hop.number in known for each in found)}
    return [*sorted(told)]


def answer(case: Case) -> Reply:
    """Answer from what is given; from memory too where no passages are."""
    recalled = {} if "passages" in case.prompt.blocks else case.remembered()
    known = {**recalled, **case.known("sub_answers", "information", "history")}
    if not case.is_enough(known):
        return {"reasoning": reasoned(case, known), "answer": UNANSWERABLE, "used_passages": []}
    said = case.conclude(known)
    reasoning = " ".join([*case.statements(known), f"{SAID}{said}."])[-LONGEST:]
    return {"reasoning": reasoning, "answer": said, "used_passages": shown_for(case, known)}


def extract(case: Case) -> Reply:
    """Collect what each relevant passage tells; in an error it is made up, or beside the point."""
    found: list[JsonValue] = []
    for passage in relevant(case):
        told = {each.statement: case.asked_of(each.hop) for each in case.by_passage.get(passage.number, [])}
        for statement, asked in (told or {_beginning(passage): case.prompt.question}).items():
            info = wrong_fact(case, asked, len(found)) if case.errs("fact", len(found)) else statement
            found.append({"info": info, "support_passages": [passage.number]})
    return {"useful_information": found}


def wrong_fact(case: Case, asked: str, number: int = 0) -> str:
    """Make up what a question asks for."""
    return f"{bare(asked)}: {case.made_up(f'fact:{number}')}."


def _beginning(passage: Passage) -> str:
    spans = split_sentences(passage.text)
    return passage.text[: spans[0][1]] if spans else passage.text


def compress(case: Case) -> Reply:
    """Copy the sentences of the passage that tell what is needed."""
    kept = [
        text
        for passage in relevant(case)
        for text in ([_copied(passage, each.statement) for each in case.by_passage.get(passage.number, [])])
        or [_beginning(passage)]
    ]
    return {"text": " … ".join(dict.fromkeys(kept))[: 4 * LONGEST] or "irrelevant"}


def _copied(passage: Passage, statement: str) -> str:
    """Take the title off a statement again: the title is shown beside the text anyway."""
    return statement.removeprefix(f"{passage.title}: ")


def recall_knowledge(case: Case) -> Reply:
    """Write what is known from memory, one fact to a line."""
    return {"knowledge": _memory(case)}


def write_passage(case: Case) -> Reply:
    """Write what is known from memory as a passage."""
    return {"passage": _memory(case)}


def complete(case: Case) -> Reply:
    """Supply the next fact that is missing, if it is known from memory."""
    known = case.known()
    recalled = {n: said for n, said in case.remembered().items() if n not in known}
    told = case.statements({**known, **recalled})
    shown = case.statements(known)
    missing = next(iter(case.open_questions(known)), case.prompt.question)
    new = [each for each in told if each not in shown]
    made_up = wrong_fact(case, missing) if case.errs("fact") else ""
    return {"missing": missing, "passage": made_up or next(iter(new), NOTHING)}


def _memory(case: Case) -> str:
    if case.errs("fact"):
        return wrong_fact(case, case.asked_of(case.hops[0]) if case.hops else case.prompt.question)
    return "\n".join(case.statements(case.remembered())) or NOTHING


def _decision(case: Case, known: Mapping[int, str], *, answers: bool) -> Reply:
    if not answers:
        missing = " ".join(case.open_questions(known)) or case.prompt.question
        return {
            "answer": {"text": UNANSWERABLE, "confidence": 1},
            "explanation": " ".join(case.statements(known))[:LONGEST],
            "missing_information": missing,
            "used_information": [],
        }
    used = {n for n, found in case.by_item("information").items() if any(each.hop.number in known for each in found)}
    return {
        "answer": {"text": case.conclude(known), "confidence": 5},
        "explanation": " ".join(case.statements(known))[:LONGEST],
        "missing_information": "",
        "used_information": [*sorted(used)],
    }


def decide(case: Case) -> Reply:
    """Answer when every hop is in the information, else say what is missing."""
    known = case.known("information")
    return _decision(case, known, answers=case.is_enough(known))


def final_answer(case: Case) -> Reply:
    """Answer, also when the information holds only the hop that has the answer."""
    known = case.known("information")
    target = case.target
    if target and target.hop is None and target.plan.last_decides and target.hops[-1].number in known:
        known = {**target.plan.gold_answers(), **known}
    return _decision(case, known, answers=case.is_enough(known))


def ground(case: Case) -> Reply:
    """Cite the sentence that tells the answer, and revise the answer by it."""
    known = case.known()
    if not case.is_enough(known) or not case.prompt.passages:
        return {"ref": "Empty", "revise": ""}
    cited = [each.statement for found in case.by_passage.values() for each in found]
    ref = cited[0] if cited else _beginning(case.prompt.passages[0])
    return {"ref": ref[:LONGEST], "revise": case.conclude(known)}


def judge_relevance(case: Case) -> Reply:
    """Name the passages that tell something, if together they are enough to answer."""
    wanted, told = {hop.number for hop in case.hops}, case.known()
    enough = bool(wanted) and wanted <= told.keys()
    return {
        "relevant": [
            each.number
            for each in case.prompt.passages
            if (enough and each.number in case.by_passage) != case.errs("relevant", each.number)
        ]
    }


def weigh_passages(case: Case) -> Reply:
    """Say of each passage what it tells; `select_passages` goes by the last line."""
    chosen = [each.number for each in relevant(case)]
    lines = [f"Passage {n} says: {found[0].statement}" for n, found in case.by_passage.items() if n in chosen]
    numbers = ", ".join(map(str, chosen)) or "none"
    return {"judgement": "\n".join([*(line[:LONGEST] for line in lines), f"Relevant passages: {numbers}."])}


def self_knowledge(case: Case) -> Reply:
    """Tell whether all that the answer needs is known from memory."""
    known = case.remembered()
    true = case.target is not None and bool(case.target.answers) and all(hop.number in known for hop in case.hops)
    return {"known": true != case.errs("known")}


def review(case: Case) -> Reply:
    """Judge the passages as one whole, then answer, or say what is missing and search for it."""
    known = case.known()
    is_relevant = bool(case.by_passage) != case.errs("relevant")
    enough = case.is_enough(known)
    steps = " ".join(case.statements(known))
    if enough:
        said = case.conclude(known)
        analysis = f"{steps} {SAID}{said}."[-LONGEST:].strip()
        return {"relevant": is_relevant, "enough": True, "analysis": analysis, "answer": said, "query": ""}
    query = next(iter(case.open_questions(known)), case.prompt.question)
    analysis = f"{steps} Missing: {query}"[:LONGEST].strip()
    return {"relevant": is_relevant, "enough": False, "analysis": analysis, "answer": "", "query": query}


def fuse(case: Case) -> Reply:
    """Take the answer that the passages tell; where they are not shown or not enough the one most often asserted."""
    said = {n: _answer_in(text) for n, text in case.prompt.items("assertions")}
    said = {n: text for n, text in said.items() if text}
    known = case.known()
    proven = case.conclude(known) if case.target and all(hop.number in known for hop in case.hops) else ""
    most = Counter(keyed(text) for text in said.values()).most_common(1)
    agreed = next((text for text in said.values() if most and keyed(text) == most[0][0]), "")
    chosen = proven or (case.made_up("answer") if agreed and case.errs("answer") else agreed)
    used: list[JsonValue] = [n for n, text in said.items() if keyed(text) == keyed(chosen)]
    reasoning = f"{len(used)} of {len(said)} assertions say so."
    return {"reasoning": reasoning, "answer": chosen or UNANSWERABLE, "used_assertions": used}


def _answer_in(text: str) -> str:
    """Read the answer that an assertion comes to; empty when it has none."""
    said = text.partition(SAID)[2].rpartition(" [passages ")[0] or text.partition(SAID)[2]
    return said.strip().removesuffix(".")


def score_relevance(case: Case) -> Reply:
    """Rate each passage: 10 for one that tells something that is needed, 0 for any other."""
    chosen = {each.number for each in relevant(case)}
    return {"ratings": [{"passage": p.number, "rating": 10 if p.number in chosen else 0} for p in case.prompt.passages]}


def judge_entailment(case: Case) -> Reply:
    """Tell whether the premise has the statement's words, or at least all of its content terms."""
    premise, statement = (unescape(case.prompt.blocks.get(name, "")) for name in ("premise", "statement"))
    wanted = frozenset(content_terms(statement))
    true = holds(premise, statement) or (bool(wanted) and wanted <= frozenset(content_terms(premise)))
    return {"supported": float(true != case.errs("supported"))}


def judge_usefulness(case: Case) -> Reply:
    """Tell whether the statement tells a part of what the answer needs."""
    told = case.found_in_text(unescape(case.prompt.blocks.get("statement", "")))
    return {"useful": bool(told) != case.errs("useful")}


def judge_alignment(case: Case) -> Reply:
    """Name the candidates that are asked in the missing information, word for word."""
    missing = unescape(case.prompt.blocks.get("missing", ""))
    return {
        "aligned": [
            number
            for number, asked in case.prompt.items("candidates")
            if holds(missing, asked) != case.errs("aligned", number)
        ]
    }
