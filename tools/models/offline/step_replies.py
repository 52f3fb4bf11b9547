"""What the offline model replies to the steps that go hop by hop, filter, judge, review or simply read."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby

from pydantic import JsonValue

from hopgraph.tools.models.offline.answer_selection import find, gather
from hopgraph.tools.models.offline.evidence_reading import Reading, read_all
from hopgraph.tools.models.offline.prompt_blocks import Prompt, unescape
from hopgraph.tools.models.offline.query_writing import next_queries
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.question_splitting import described, lacking, sub_questions
from hopgraph.tools.models.offline.select import sentences, useful
from hopgraph.tools.models.offline.terms import key

Reply = dict[str, JsonValue]
_NO_ANSWER, _NOTHING = "unanswerable", "I don't know"
_LONGEST = 1_500
"""Characters of a quotation; a thought or analysis that is longer is refused."""
_SHOWN_BY = re.compile(r" \[passages [\d, ]{1,80}\]$")


def answer(prompt: Prompt) -> Reply:
    """Answer from the passages and the answered sub-questions; also for a step that is not known by name."""
    reading = read_all(prompt)
    best = reading.found.text if reading.shown or reading.found.enough else ""
    said = reading.known.get(key(reading.question)) or best
    numbers = sorted({s.passage for s in reading.cited}) if said == reading.found.text else []
    texts = [*(s.info for s in reading.shown), *reading.told]
    steps = " ".join(texts[number - 1] for number in reading.found.used) if said else ""
    return {
        "reasoning": f"{steps} So the answer is: {said}." if said else "",
        "answer": said or _NO_ANSWER,
        "used_passages": list[JsonValue](numbers),
    }


def _next_question(prompt: Prompt) -> Reply:
    """Ask what is described, then what a comparison lacks, then all that is left; end when nothing is new."""
    reading = read_all(prompt)
    left = lacking(reading.evidence, reading.found.missing)
    left += [*list(described(reading.question).values())[: 0 if left else 1], reading.question]
    said = reading.known.get(key(reading.question)) or (reading.found.text if reading.found.enough else "")
    new = "" if said else next((each for each in left if key(each) and key(each) not in reading.known), "")
    return {"sub_question": new, "answer": "", "final_answer": said or ("" if new else _NO_ANSWER)}


def _queries(prompt: Prompt, reading: Reading, asked: list[str]) -> list[str]:
    items = list(enumerate([s.info for s in reading.shown], start=1))
    return next_queries(gather(prompt.question, items), asked, reading.found.missing)


def _act(prompt: Prompt) -> Reply:
    asked = re.findall(r"search\[([^\]\n]{1,500})\]", prompt.blocks.get("history", ""))
    reading = read_all(replace(prompt, blocks={**prompt.blocks, "history": ""}))
    new = [] if reading.found.enough else [re.sub(r"[\[\]]", "", text) for text in _queries(prompt, reading, asked)][:1]
    action = f"search[{new[0]}]" if new else f"finish[{reading.found.text or _NO_ANSWER}]"
    used = list[JsonValue]([] if new else sorted({s.passage for s in reading.cited}))
    return {"thought": " ".join(s.info for s in reading.cited)[:_LONGEST], "action": action, "used_passages": used}


def _review(prompt: Prompt) -> Reply:
    """Call a path relevant when it speaks of a name in the question; enough by the same rule as `decide`."""
    reading, question = read_all(prompt), read_question(prompt.question)
    texts = [key(f"{passage.title} {passage.text}") for passage in prompt.passages]
    relevant = any(key(name) in text for name in question.names for text in texts)
    relevant = relevant or (not question.names and bool(useful(prompt.question, prompt.passages)))
    enough = relevant and reading.found.enough
    facts = " ".join(s.info for s in reading.cited)[:_LONGEST]
    query = next(iter(_queries(prompt, reading, [])), prompt.question)
    missing = reading.found.missing or f"what {query} says"
    return {
        "relevant": relevant,
        "enough": enough,
        "analysis": f"{facts} So the answer is: {reading.found.text}." if enough else f"Missing: {missing}.",
        "answer": reading.found.text if enough else "",
        "query": "" if enough else query,
    }


def _ground(prompt: Prompt) -> Reply:
    reading = read_all(prompt)
    if not reading.found.enough or not reading.cited:
        return {"ref": "Empty", "revise": ""}
    return {"ref": reading.cited[-1].sentence, "revise": reading.found.text}


def _judge(prompt: Prompt) -> Reply:
    groups = groupby(sentences(prompt.passages), lambda s: s.passage)
    judged = [(n, gather(prompt.question, list(enumerate((s.info for s in each), 1)))) for n, each in groups]
    enough = [n for n, evidence in judged if find(evidence, one_text=True).enough]
    return {"relevant": list[JsonValue](enough)}


def _decompose(prompt: Prompt) -> Reply:
    return {"sub_questions": list[JsonValue](sub_questions(prompt.question))}


def _weigh(prompt: Prompt) -> Reply:
    best = useful(prompt.question, prompt.passages)[:8]
    lines = [f"Passage {s.passage} says: {s.sentence}" for s in best]
    numbers = ", ".join(map(str, sorted({s.passage for s in best})))
    return {"judgement": "\n".join([*lines, f"Relevant passages: {numbers or 'none'}."])}


def _select(prompt: Prompt) -> Reply:
    told = prompt.blocks.get("judgement", "").lower().rpartition("relevant passages:")[2]
    named = {int(number) for number in re.findall(r"\d{1,9}", told)}
    return {"relevant": [passage.number for passage in prompt.passages if passage.number in named]}


def _said(text: str) -> str:
    return text.rpartition("answer is: ")[2].strip().removesuffix(".") if "answer is: " in text else ""


def _shorten(prompt: Prompt) -> Reply:
    said = _said(unescape(prompt.blocks.get("reasoning", "")))
    return {"answer": said or _NO_ANSWER}


def _topic(prompt: Prompt) -> Reply:
    question = read_question(prompt.question)
    return {"topic": next(iter(question.names), question.noun or prompt.question[:60])}


def _thought(prompt: Prompt) -> Reply:
    """State the cited facts that no thought holds yet, else the most useful such sentence; then the answer."""
    reading = read_all(prompt)
    thoughts = {key(text) for _, text in prompt.items("thoughts")}
    facts = reading.cited if reading.found.enough else useful(prompt.question, prompt.passages)[:3]
    new = next((s.info for s in facts if key(s.info) not in thoughts), "")
    return {"thought": new or f"So the answer is: {reading.found.text or _NO_ANSWER}."}


def _fuse(prompt: Prompt) -> Reply:
    """Take the answer that most assertions give, the first of equals; without any read them as an answer does."""
    said = {n: told for n, text in prompt.items("assertions") if (told := _said(_SHOWN_BY.sub("", text)))}
    most = Counter(key(text) for text in said.values()).most_common(1)
    numbers = [n for n, text in said.items() if most and key(text) == most[0][0]]
    text = said[numbers[0]] if numbers else str(answer(prompt)["answer"])
    return {"reasoning": f"{len(numbers)} of {len(said)} agree.", "answer": text, "used_assertions": [*numbers]}


def _unknowing(**fields: JsonValue) -> Callable[[Prompt], Reply]:
    return lambda _prompt: dict(fields)


REPLIES: dict[str, Callable[[Prompt], Reply]] = {
    "answer": answer,
    "answer_step_by_step": answer,
    "deduce": _next_question,
    "follow_up": _next_question,
    "act": _act,
    "ground": _ground,
    "review": _review,
    "review_directly": _review,
    "complete": _unknowing(missing="", passage=_NOTHING),
    "write_passage": _unknowing(passage=_NOTHING),
    "self_knowledge": _unknowing(known=False),
    "judge_relevance": _judge,
    "name_topic": _topic,
    "weigh_passages": _weigh,
    "select_passages": _select,
    "shorten": _shorten,
    "decompose": _decompose,
    "next_thought": _thought,
    "fuse": _fuse,
}
"""The reply to each of these steps by its name."""
