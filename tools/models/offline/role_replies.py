"""What the offline model replies to each step, as plain JSON data."""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hopgraph.tools.models.completions import WRITTEN
from hopgraph.tools.models.offline.chat_replies import contextualise, route
from hopgraph.tools.models.offline.prompt_reading import Prompt, Sentence, read_evidence, useful
from hopgraph.tools.models.offline.question import read_question
from hopgraph.tools.models.offline.reader import described, sub_questions
from hopgraph.tools.models.offline.statements import key
from hopgraph.tools.prompts import escape

Reply = dict[str, Any]
_UNANSWERABLE, _DONT_KNOW, _OPEN = "unanswerable", "I don't know", "Not known yet: "
_LIKELY = 0.9
_TOKENS: dict[str, dict[str, str]] = {
    "known": {"True": "[No Retrieval]", "False": "[Retrieval]"},
    "relevant": {"True": "[Relevant]", "False": "[Irrelevant]"},
    "answer": {},
    "support": {"full": "[Fully supported]", "none": "[No support / Contradictory]"},
    "utility": {"5": "[Utility:5]", "1": "[Utility:1]"},
}
"""What stands for the fields of a record, in this order."""
_MAX_STATEMENTS = 8
_MAX_CHARACTERS = 1_500  # of a quotation; a thought or analysis that is longer is refused
_MAX_QUERY = 300
_MAX_HISTORY = 999  # the number of a line that comes after all others
_PASSAGES = re.compile(r" \[passages [\d, ]{1,80}\]$")


def _extract(prompt: Prompt) -> Reply:
    asked = [text for _, text in prompt.items("queries")] or [prompt.question]
    found = {each.info: each for query in asked for each in useful(query, prompt.passages)[:_MAX_STATEMENTS]}
    return {"useful_information": [{"info": s.info, "support_passages": [s.passage]} for s in found.values()]}


def _decide(prompt: Prompt) -> Reply:
    """Answer when a chain of statements carries the question well enough, at last anyway; else say what is missing."""
    reading = read_evidence(prompt)
    found = reading.found
    text = found.text if found.enough or prompt.step == "final_answer" else ""
    missing = found.missing_text or f"what answers the question: {reading.question[:300]}"
    return {
        "answer": {"text": text or _UNANSWERABLE, "confidence": max(1, round(5 * found.probability)) if text else 1},
        "explanation": reading.quotes() if text else "",
        "missing_information": "" if text else missing,
        "used_information": [*found.used] if text else [],
    }


def _generate_queries(prompt: Prompt) -> Reply:
    """Ask for the names that the chain has reached, with what the question still asks of them."""
    asked = [text for _, text in prompt.items("asked")]
    return {"queries": read_evidence(prompt).queries(asked, prompt.text("missing"))[: prompt.at_most]}


def _snippet(prompt: Prompt) -> Reply:
    chosen = sorted(useful(prompt.question, prompt.passages)[:3], key=lambda s: s.place)
    return {"text": " ".join(s.sentence for s in chosen) or "irrelevant"}


def _answer(prompt: Prompt) -> Reply:
    """Answer from the passages and the answered sub-questions; also for a step that is not known by name."""
    reading = read_evidence(prompt)
    return {
        "reasoning": f"{reading.quotes()} So the answer is: {reading.answer}." if reading.answer else "",
        "answer": reading.answer or _UNANSWERABLE,
        "used_passages": reading.passages if reading.answer else [],
    }


def _write_sentence(prompt: Prompt) -> Reply:
    marks = "".join(f"[{each.number}]" for each in prompt.passages)
    return {"answer": f"The answer is {prompt.text('short_answer').rstrip('.')}{marks and f' {marks}'}."}


def _next_question(prompt: Prompt) -> Reply:
    """Ask what a comparison lacks, else what is described, then all that is left; end when nothing is new."""
    reading = read_evidence(prompt)
    left = [*reading.found.missing, *list(described(reading.question).values())[:1], reading.question]
    known = reading.found.text if reading.found.enough else ""
    new = "" if known else next((each for each in left if key(each) and key(each) not in reading.reader.known), "")
    final = known or ("" if new else _UNANSWERABLE)
    thought = f"{_OPEN}{new[:_MAX_CHARACTERS]}" if new else ""
    return {"thought": thought, "sub_question": new, "answer": "", "final_answer": final}


def _follow_up_jointly(prompt: Prompt) -> Reply:
    """Answer the last follow-up question, then go on from it as from the answered ones."""
    asked, history = prompt.blocks.get("follow_up", ""), prompt.blocks.get("history", "")
    last = replace(prompt, blocks={**prompt.blocks, "question": asked, "history": ""})
    said = read_evidence(last) if asked else None
    answer = said.answer if said else ""
    if asked:
        history += f'\n<item id="{_MAX_HISTORY}">{asked} {escape(answer) or "unknown"}</item>'
    then = _next_question(replace(prompt, blocks={**prompt.blocks, "history": history, "passages": ""}))
    return {"intermediate_answer": answer, "used_passages": said.passages if said and answer else [], **then}


def _act(prompt: Prompt) -> Reply:
    asked = re.findall(r"search\[([^\]\n]{1,500})\]", prompt.blocks.get("history", ""))
    reading = read_evidence(replace(prompt, blocks={**prompt.blocks, "history": ""}))
    new = [] if reading.found.enough else [re.sub(r"[\[\]]", "", text) for text in reading.queries(asked)][:1]
    action = f"search[{new[0]}]" if new else f"finish[{reading.found.text or _UNANSWERABLE}]"
    thought = reading.quotes()[:_MAX_CHARACTERS]
    return {"thought": thought, "action": action, "used_passages": [] if new else reading.passages}


def _review(prompt: Prompt) -> Reply:
    """Call a path relevant when it speaks of a name in the question; enough by the same rule as `decide`."""
    reading, relevant = read_evidence(prompt), bool(_judge_relevance(prompt)["relevant"])
    enough = relevant and reading.found.enough
    query = next(iter(reading.queries([])), prompt.question)
    facts = f"{reading.quotes()[:_MAX_CHARACTERS]} So the answer is: {reading.found.text}."
    return {
        "relevant": relevant,
        "enough": enough,
        "analysis": facts if enough else f"Missing: {reading.found.missing_text or f'what {query} says'}.",
        "answer": reading.found.text if enough else "",
        "query": "" if enough else query,
    }


def _ground(prompt: Prompt) -> Reply:
    reading = read_evidence(prompt)
    sure = reading.found.enough and reading.cited
    return {"ref": reading.cited[-1].sentence if sure else "Empty", "revise": reading.found.text if sure else ""}


def _judge_relevance(prompt: Prompt) -> Reply:
    """Call what is shown relevant when it speaks of a name in the question; without a name when it has an answer."""
    reading, question = read_evidence(prompt), read_question(prompt.question)
    texts = [key(f"{passage.title} {passage.text}") for passage in prompt.passages]
    named = any(key(name) in text for name in question.names for text in texts)
    return {"relevant": named or (not question.names and bool(reading.found.text))}


def _judge_together(prompt: Prompt) -> Reply:
    """Call the passages enough by the same rule as `decide`; needed is what the answer rests on."""
    reading = read_evidence(prompt)
    thought = reading.quotes()[:_MAX_CHARACTERS]
    return {"thought": thought, "enough": reading.found.enough, "relevant": reading.passages}


def _rewrite_passage(prompt: Prompt) -> Reply:
    facts = [s.info for s in useful(prompt.question, prompt.passages)[:5]]
    lines = dict.fromkeys([*prompt.text("document").splitlines(), *facts])
    return {"passage": "\n".join(lines)[-_MAX_CHARACTERS:] or _DONT_KNOW}


def _weigh_passages(prompt: Prompt) -> Reply:
    best = useful(prompt.question, prompt.passages)[:_MAX_STATEMENTS]
    lines = [f"Passage {s.passage} says: {s.sentence}" for s in best]
    numbers = ", ".join(map(str, sorted({s.passage for s in best})))
    return {"judgement": "\n".join([*lines, f"Relevant passages: {numbers or 'none'}."])}


def _select_passages(prompt: Prompt) -> Reply:
    judgement = prompt.blocks.get("judgement", "").lower().rpartition("relevant passages:")[2]
    named = {int(number) for number in re.findall(r"\d{1,9}", judgement)}
    return {"relevant": [passage.number for passage in prompt.passages if passage.number in named]}


def _stated_answer(text: str) -> str:
    return text.rpartition("answer is: ")[2].strip().removesuffix(".") if "answer is: " in text else ""


def _name_topic(prompt: Prompt) -> Reply:
    question = read_question(prompt.question)
    return {"topic": next(iter(question.names), question.noun or prompt.question[:60])}


def _next_fact(prompt: Prompt, *lists: str) -> Sentence | None:
    """Return the first cited sentence that the lists do not hold, else the most useful such one of all."""
    reading = read_evidence(prompt)
    said = {key(text) for name in lists for _, text in prompt.items(name)}
    facts = reading.cited if reading.found.enough else useful(prompt.question, prompt.passages)[:3]
    return next((s for s in facts if key(s.info) not in said), None)


def _next_thought(prompt: Prompt) -> Reply:
    fact = _next_fact(prompt, "thoughts")
    return {"thought": fact.info if fact else f"So the answer is: {read_evidence(prompt).found.text or _UNANSWERABLE}."}


def _next_sentence(prompt: Prompt) -> Reply:
    fact = _next_fact(prompt, "sentences", "rejected")
    return {
        "sentence": fact.info if fact else _next_question(prompt)["thought"],
        "used_passages": [fact.passage] if fact else [],
    }


def _write_query(prompt: Prompt) -> Reply:
    reading = read_evidence(prompt)
    query = next(iter(reading.queries([])), prompt.question)
    return {"rationale": reading.quotes()[:_MAX_CHARACTERS], "query": query}


def _fuse(prompt: Prompt) -> Reply:
    """Take the answer that most assertions give, the first of equals; without any read them as an answer does."""
    said = {n: stated for n, text in prompt.items("assertions") if (stated := _stated_answer(_PASSAGES.sub("", text)))}
    most = Counter(key(text) for text in said.values()).most_common(1)
    numbers = [n for n, text in said.items() if most and key(text) == most[0][0]]
    text = said[numbers[0]] if numbers else str(_answer(prompt)["answer"])
    return {"reasoning": f"{len(numbers)} of {len(said)} agree.", "answer": text, "used_assertions": [*numbers]}


def score_continuation(prompt: Prompt, answer: str) -> Reply:
    """Give each word of a text the log-probability of a stand-in: a likely one if the text is its answer."""
    text = prompt.text("continuation")
    probability = _LIKELY if key(text) == key(answer) else 1 - _LIKELY
    return {"tokens": [{"text": word, "logprob": math.log(probability)} for word in re.findall(r"\s*\S+", text)]}


def critique_of(answer: str, *, relevant: bool = False) -> Reply:
    """Judge an answer that was read in the passage, which states all of it; there may be none."""
    if answer == _UNANSWERABLE:
        return {"relevant": relevant, "answer": answer, "support": "none", "utility": 1}
    return {"relevant": True, "answer": answer, "support": "full", "utility": 5}


def in_asked_form(prompt: Prompt, said: Reply) -> Reply:
    """Return a record as it is, or as the tokens that Self-RAG's weights write where those are asked for."""
    if WRITTEN not in prompt.blocks:
        return said
    words = [tokens.get(str(said[name]), str(said[name])) for name, tokens in _TOKENS.items() if name in said]
    logprob = math.log(_LIKELY)
    return {"tokens": [{"text": word, "logprob": logprob, "top": {word: logprob}} for word in words]}


STEPS: dict[str, Callable[[Prompt], Reply]] = {
    "extract": _extract,
    "recall_knowledge": lambda _: {"knowledge": _DONT_KNOW},
    **dict.fromkeys(("decide", "final_answer"), _decide),
    "read_link": lambda prompt: {**_answer(prompt), "confidence": 5},
    "write_chain": lambda prompt: {
        "chain": [{"query": query}] if (query := _next_question(prompt)["sub_question"]) else []
    },
    "generate_queries": _generate_queries,
    **dict.fromkeys(("summarise", "snippet"), _snippet),
    "contextualise": contextualise,
    "route": route,
    **dict.fromkeys(("answer", "answer_step_by_step", "answer_in_a_sentence"), _answer),
    "verifying_questions": lambda prompt: {"queries": [prompt.text("sentence").removeprefix(_OPEN)[:_MAX_QUERY]]},
    **dict.fromkeys(("deduce", "follow_up"), _next_question),
    "follow_up_jointly": _follow_up_jointly,
    "act": _act,
    "ground": _ground,
    **dict.fromkeys(("review", "review_directly"), _review),
    "complete": lambda _: {"missing": "", "passage": _DONT_KNOW},
    "write_passage": lambda _: {"passage": _DONT_KNOW},
    "rewrite_passage": _rewrite_passage,
    "self_knowledge": lambda _: {"known": False},
    "judge_relevance": _judge_relevance,
    "judge_together": _judge_together,
    "name_topic": _name_topic,
    "weigh_passages": _weigh_passages,
    "select_passages": _select_passages,
    "write_sentence": _write_sentence,
    "shorten": lambda prompt: {"answer": _stated_answer(prompt.text("reasoning")) or _UNANSWERABLE},
    "decompose": lambda prompt: {"sub_questions": sub_questions(prompt.question, "#1" in prompt.instructions)},
    "next_thought": _next_thought,
    "next_sentence": _next_sentence,
    "write_query": _write_query,
    "fuse": _fuse,
    "critique": lambda prompt: critique_of(str(_answer(prompt)["answer"])),
    "score_answer": lambda prompt: score_continuation(prompt, str(_answer(prompt)["answer"])),
}
"""The reply to each step by its name; the model has no knowledge of its own."""


def reply(prompt: Prompt) -> Reply:
    """Reply to a prompt: by its step, else from the passages and the question that it holds."""
    return in_asked_form(prompt, STEPS.get(prompt.step, _answer)(prompt))
