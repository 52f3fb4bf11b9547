"""The reply to each step as plain JSON data: one table over a player, whoever it is."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult

from hopgraph.state.records import UNANSWERABLE
from hopgraph.tools.models.completions import WRITTEN
from hopgraph.tools.models.players.chat_replies import small_talk_reply, stand_alone_question
from hopgraph.tools.models.players.player import Player, PlayerAnswer, PromptContents, StatedFact
from hopgraph.tools.models.players.prompt_reading import ParsedPrompt
from hopgraph.tools.models.players.wording import key, names
from hopgraph.tools.text import content_terms

Reply = dict[str, Any]
_DONT_KNOW = "I don't know"
_CONCLUSION = "So the answer is: "
_NEEDED = "What is needed next is "
_MAX_QUOTE = 1_000  # characters of a quotation; a thought or analysis that is much longer is refused
_LIKELY = 0.9
_SEARCHED = re.compile(r"search\[([^\]\n]{1,500})\]")
_SEARCH_TAGS = re.compile(r"<search> ([^<\n]{1,500}) </search>")
_PASSAGES = re.compile(r" \[passages [\d, ]{1,80}\]$")
_ASKED = re.compile(r"(?:^|: )((?:Wh|How|In|On|Is|Was|Are|Were|Did|Do|Does)[a-z]{0,3} [^:?]{3,300})(?:[?:]|$)")
_TOKENS: dict[str, dict[str, str]] = {
    "known": {"True": "[No Retrieval]", "False": "[Retrieval]"},
    "relevant": {"True": "[Relevant]", "False": "[Irrelevant]"},
    "answer": {},
    "support": {"full": "[Fully supported]", "none": "[No support / Contradictory]"},
    "utility": {"5": "[Utility:5]", "1": "[Utility:1]"},
}
"""Names that may stand for the fields of a record, in this order."""


def _texts(facts: Iterable[StatedFact]) -> list[str]:
    return list(dict.fromkeys(fact.text for fact in facts))


def _quotes(facts: Iterable[StatedFact]) -> list[str]:
    return list(dict.fromkeys(fact.quote for fact in facts if fact.quote))


def _listed(prompt: ParsedPrompt, *names: str) -> list[str]:
    return [text for name in names for _, text in prompt.items(name)]


def _next(player: Player, given: PromptContents, asked: Iterable[str] = ()) -> str:
    return next(iter(player.next_questions(given, list(asked))), "")


def _reason(player: Player, given: PromptContents) -> str:
    """State what is known, and what is not known yet."""
    return " ".join([*_texts(player.answer(given).facts), *_left(player, given)])[:_MAX_QUOTE]


def _left(player: Player, given: PromptContents) -> list[str]:
    asked = "" if player.answer(given).text else _next(player, given)
    return [f"It is not known yet: {asked}"] if asked else []


def _argue(found: PlayerAnswer) -> str:
    return " ".join([*_texts(found.facts), f"{_CONCLUSION}{found.text}."])[-_MAX_QUOTE:]


def _read(player: Player) -> PlayerAnswer:
    """Answer from the given blocks; also from memory if there are no passages, or gaps are to be filled."""
    memory = player.prompt.role.startswith("blendfilter/") or "passages" not in player.prompt.blocks
    return player.answer(
        PromptContents(("sub_answers", "information", "assertions", "history"), memory=memory, wants="read")
    )


def _answer(player: Player) -> Reply:
    found = _read(player)
    reasoning = (
        _argue(found) if found.text else _reason(player, PromptContents(("sub_answers", "information", "history")))
    )
    return {
        "reasoning": reasoning,
        "answer": found.text or UNANSWERABLE,
        "used_passages": [*found.passages] if found.text else [],
    }


def _reason_to_search(player: Player) -> Reply:
    """State what the passages and memory have; name what comes next, or guess it and the rest where asked to."""
    abstains = UNANSWERABLE in player.prompt.instructions
    given = PromptContents(memory=True, wants="read" if abstains else "guess")
    found = player.answer(given)
    known = player.answer(PromptContents(memory=True))
    left = [] if known.text else [each.rstrip(" ?") for each in player.next_questions(PromptContents(memory=True), [])]
    if not abstains:
        left = [f"{each}: {player.with_question(f'{each}?').answer(given).text or 'unknown'}." for each in left]
    ends = [f"{_CONCLUSION}{found.text}."] if found.text and not (abstains and left) else []
    reasoning = " ".join([*_texts(known.facts), *left, *ends])[-_MAX_QUOTE:]
    answer = found.text if ends else ""
    return {"reasoning": reasoning, "answer": answer or UNANSWERABLE, "used_passages": [*found.passages]}


def _extract(player: Player) -> Reply:
    rows = dict.fromkeys((fact.quote, fact.passage) for fact in player.facts(PromptContents()) if fact.passage)
    return {"useful_information": [{"info": text, "support_passages": [number]} for text, number in rows]}


def _compress(player: Player) -> Reply:
    """Copy the sentences of the passages that help, without the title that is shown with them."""
    titles = {passage.number: passage.title for passage in player.prompt.passages}
    found = [fact for fact in player.facts(PromptContents()) if fact.passage][:3]
    texts = dict.fromkeys(fact.quote.removeprefix(f"{titles[fact.passage]}: ") for fact in found)
    return {"text": " … ".join(texts)[: 4 * _MAX_QUOTE] or "irrelevant"}


def _recall(player: Player) -> str:
    return "\n".join(_texts(player.facts(PromptContents(passages=False, memory=True)))) or _DONT_KNOW


def _complete(player: Player) -> Reply:
    """Supply the next fact that is missing, if it is known from memory."""
    shown = player.facts(PromptContents())
    recalled = [fact for fact in player.facts(PromptContents(memory=True)) if fact not in shown and not fact.passage]
    missing = _next(player, PromptContents()) or player.prompt.question
    return {"missing": missing, "passage": recalled[0].text if recalled else _DONT_KNOW}


def _decide(player: Player) -> Reply:
    """Answer if nothing is missing, or in the end in any case; else state what is missing."""
    given = PromptContents(("information",), wants="last" if player.prompt.step == "final_answer" else "sure")
    found = player.answer(given)
    asked = [] if found.text else player.next_questions(given, [])[: player.prompt.at_most] or [player.prompt.question]
    return {
        "answer": {"text": found.text or UNANSWERABLE, "confidence": found.confidence if found.text else 1},
        "explanation": " ".join(_texts(found.facts))[:_MAX_QUOTE],
        "missing_information": " ".join(asked)[:_MAX_QUOTE],
        "used_information": [*found.items] if found.text else [],
    }


def _ground(player: Player) -> Reply:
    """Cite the support of the answer, and revise the answer with it."""
    found, passages = player.answer(PromptContents()), player.prompt.passages
    if not found.text or not passages:
        return {"ref": "Empty", "revise": ""}
    return {"ref": (" ".join(_quotes(found.facts)) or passages[0].text)[:_MAX_QUOTE], "revise": found.text}


def _judge_together(player: Player) -> Reply:
    enough = bool(player.answer(PromptContents()).text)
    return {"thought": _reason(player, PromptContents()), "enough": enough, "relevant": player.relevant()}


def _weigh_passages(player: Player) -> Reply:
    """State what each passage says; `select_passages` uses the last line."""
    chosen = player.relevant()
    lines = [
        f"Passage {fact.passage} says: {fact.quote}"
        for fact in player.facts(PromptContents())
        if fact.passage in chosen
    ]
    numbers = ", ".join(map(str, chosen)) or "none"
    return {"judgement": "\n".join([*(line[:_MAX_QUOTE] for line in lines[:20]), f"Relevant passages: {numbers}."])}


def _select_passages(player: Player) -> Reply:
    judgement = player.prompt.text("judgement").lower().rpartition("relevant passages:")[2]
    named = {int(number) for number in re.findall(r"\d{1,9}", judgement)}
    return {"relevant": [passage.number for passage in player.prompt.passages if passage.number in named]}


def _score_relevance(player: Player) -> Reply:
    chosen = player.relevant()
    shown = player.prompt.passages
    return {"ratings": [{"passage": p.number, "rating": 10 if p.number in chosen else 0} for p in shown]}


def _review(player: Player) -> Reply:
    """Judge the passages as one whole, then answer, or say what is missing and search for it."""
    found = player.answer(PromptContents())
    query = "" if found.text else _next(player, PromptContents()) or player.prompt.question
    steps = " ".join(_texts(found.facts))
    analysis = _argue(found) if found.text else f"{steps} Missing: {query}".strip()[:_MAX_QUOTE]
    relevant, enough = bool(player.relevant()), bool(found.text)
    return {"relevant": relevant, "enough": enough, "analysis": analysis, "answer": found.text, "query": query}


def _fuse(player: Player) -> Reply:
    """Take the answer that the passages have; where they are not shown or not enough the one most often asserted."""
    said = {number: _stated(_PASSAGES.sub("", text)) for number, text in player.prompt.items("assertions")}
    most = Counter(key(text) for text in said.values() if text).most_common(1)
    agreed = next((text for text in said.values() if most and key(text) == most[0][0]), "")
    chosen = player.answer(PromptContents()).text or agreed or _read(player).text
    used = [number for number, text in said.items() if text and key(text) == key(chosen)]
    reasoning = f"{len(used)} of {len(said)} assertions say so."
    return {"reasoning": reasoning, "answer": chosen or UNANSWERABLE, "used_assertions": used}


def _stated(text: str) -> str:
    """Return the answer that a text ends with; empty when it has none."""
    return text.rpartition("answer is: ")[2].strip().removesuffix(".") if "answer is: " in text else ""


def _judge_entailment(player: Player) -> Reply:
    """Judge whether the premise has the statement's words, or at least all of its content terms."""
    premise, statement = player.prompt.text("premise"), player.prompt.text("statement")
    needed = frozenset(content_terms(statement))
    said = bool(key(statement)) and f" {key(statement)} " in f" {key(premise)} "
    entailed = said or (bool(needed) and needed <= frozenset(content_terms(premise)))
    return {"supported": float(player.judges("supported", entailed))}


def _judge_alignment(player: Player) -> Reply:
    """Name the candidates that are asked in the missing information, word for word."""
    missing = f" {key(player.prompt.text('missing'))} "
    rows = ((number, key(asked)) for number, asked in player.prompt.items("candidates"))
    within = {number: bool(asked) and f" {asked} " in missing for number, asked in rows}
    return {"aligned": [number for number, is_in in within.items() if player.judges("aligned", is_in, number)]}


def _judge_usefulness(player: Player) -> Reply:
    return {"useful": player.judges("useful", bool(player.facts(PromptContents(("statement",), passages=False))))}


def _generate_queries(player: Player) -> Reply:
    asked = player.next_questions(PromptContents(("information",)), _listed(player.prompt, "asked"))
    return {"queries": asked[: player.prompt.at_most]}


def _verifying_questions(player: Player) -> Reply:
    """Ask the question that the sentence answers or names, else the whole question."""
    named = _ASKED.search(player.prompt.text("sentence"))
    return {"queries": [f"{named[1].strip(' .')}?" if named else player.prompt.question]}


def _write_query(player: Player) -> Reply:
    """Ask for what the passages lack, after what they have; the question itself where they lack nothing."""
    return {
        "rationale": _reason(player, PromptContents()),
        "query": _next(player, PromptContents()) or player.prompt.question,
    }


def _follow_up(player: Player) -> Reply:
    """Ask the next question, or give the final answer."""
    prompt, given = player.prompt, PromptContents(("history",))
    if found := player.answer(given).text:
        return {"sub_question": "", "answer": "", "final_answer": found}
    asked = _next(player, given, [*_listed(prompt, "history"), prompt.text("follow_up")])
    return {"sub_question": asked, "answer": "", "final_answer": "" if asked else UNANSWERABLE}


def _deduce(player: Player) -> Reply:
    """Ask the next question with a guess, or give the final answer; say first what is known."""
    reply_to_step = {"thought": _reason(player, PromptContents(("history",))), **_follow_up(player)}
    if reply_to_step["sub_question"]:
        guess = player.with_question(reply_to_step["sub_question"]).answer(PromptContents(passages=False, memory=True))
        reply_to_step["answer"] = guess.text
    return reply_to_step


def _continue_reasoning(player: Player) -> Reply:
    """Search for the next thing, or give the final answer; say first what is known."""
    given = PromptContents(("information",))
    searched = [text.partition("\n")[0] for text in _listed(player.prompt, "information")]
    found = player.answer(given).text
    asked = "" if found else _next(player, given, searched)
    return {"thought": _reason(player, given), "sub_question": asked, "final_answer": found or UNANSWERABLE}


def _reason_in_documents(player: Player) -> Reply:
    """Copy the sentences that answer the search, else those that help with the question, one a line."""
    found = player.with_question(player.prompt.text("query")).answer(PromptContents()).facts
    found = [fact for fact in found or player.facts(PromptContents()) if fact.passage][:5]
    numbers = dict.fromkeys(fact.passage for fact in found)
    return {"information": "\n".join(_quotes(found))[:_MAX_QUOTE], "used_passages": [*numbers]}


def _follow_up_jointly(player: Player) -> Reply:
    """Answer the last follow-up question from the passages, then ask the next one, or give the final answer."""
    asked = player.prompt.text("follow_up")
    found = player.with_question(asked).answer(PromptContents()) if asked else PlayerAnswer()
    return {"intermediate_answer": found.text, "used_passages": [*found.passages], **_follow_up(player)}


def _write_chain(player: Player) -> Reply:
    """Ask all that can be asked now; what the history has is known."""
    if player.answer(PromptContents(("history",))).text:
        return {"chain": []}
    asked = player.next_questions(PromptContents(("history",), memory=True), _listed(player.prompt, "history"))
    return {"chain": [{"query": each, "answer": ""} for each in asked]}


def _act(player: Player) -> Reply:
    """Search for the next thing, or finish."""
    found = player.answer(PromptContents())
    thought = _reason(player, PromptContents())
    if found.text:
        return {"thought": thought, "action": f"finish[{found.text}]", "used_passages": [*found.passages]}
    query = _next(player, PromptContents(), _SEARCHED.findall(player.prompt.text("history")))
    action = f"search[{re.sub(r'[][]', '', query)}]" if query else f"finish[{UNANSWERABLE}]"
    return {"thought": thought, "action": action, "used_passages": []}


def _write_turn(player: Player) -> Reply:
    """Search for the next thing between tags, or answer."""
    is_last = "last_turn" in player.prompt.blocks
    found = player.answer(PromptContents(wants="last" if is_last else "sure"))
    searched = _SEARCH_TAGS.findall(" ".join(_listed(player.prompt, "history")))
    query = "" if found.text or is_last else _next(player, PromptContents(), searched)
    does = f"<search> {query} </search>" if query else f"<answer> {found.text or UNANSWERABLE} </answer>"
    return {"text": f"<think> {_reason(player, PromptContents())} </think>\n{does}"}


def _next_thought(player: Player) -> Reply:
    """State the next fact that no thought has yet; then the answer, or what has to be found."""
    given, thoughts = PromptContents(("thoughts",), memory=True), _listed(player.prompt, "thoughts")
    found = player.answer(given)
    if new := _new(_texts(found.facts if found.text else player.facts(given)), thoughts):
        return {"thought": new}
    if found.text:
        return {"thought": f"{_CONCLUSION}{found.text}."}
    asked = _next(player, given, [each.removeprefix(_NEEDED).rstrip(".") for each in thoughts])
    return {"thought": f"{_NEEDED}{asked.rstrip(' ?')}." if asked else f"{_CONCLUSION}{UNANSWERABLE}."}


def _new(texts: Iterable[str], said: Iterable[str]) -> str:
    before = " \n ".join(key(text) for text in said)
    return next((text for text in texts if f" {key(text)} " not in f" {before} "), "")


def _next_sentence(player: Player) -> Reply:
    """State the next fact that no sentence has yet, else guess what is asked next; nothing when all is said."""
    prompt, given = player.prompt, PromptContents(("sentences",))
    found = player.answer(PromptContents())
    useful = found.facts if found.text else player.facts(PromptContents())[:3]
    facts = {fact.quote: fact.passage for fact in useful if fact.passage}
    if new := _new(facts, _listed(prompt, "sentences", "rejected")):
        return {"sentence": new[:_MAX_QUOTE], "used_passages": [facts[new]]}
    asked = "" if player.answer(given).text else _next(player, given)
    if not asked:
        return {"sentence": "", "used_passages": []}
    guess = player.with_question(asked).answer(PromptContents(memory=True, wants="guess")).text
    return {"sentence": f"{asked.rstrip(' ?')}: {guess or 'unknown'}.", "used_passages": []}


def _rewrite_passage(player: Player) -> Reply:
    """State what the passages, the document and memory have, and what is to be found next."""
    given = PromptContents(("document",), memory=True)
    return {"passage": "\n".join([*_texts(player.facts(given)), *_left(player, given)])[:_MAX_QUOTE] or _DONT_KNOW}


def _route(player: Player) -> Reply:
    """Recognise small talk by its words, a bridge by a part that builds on another, a comparison by several parts."""
    if (said := small_talk_reply(player.prompt.question)) is not None:
        return {"kind": "small_talk", "reply": said}
    parts = player.parts(in_order=True)
    bridge = any("#" in part for part in parts)
    return {"kind": "single_hop" if len(parts) < 2 else "bridge" if bridge else "comparison", "reply": ""}


def _name_topic(player: Player) -> Reply:
    """Name the first name in the question; a single first word is none."""
    question = player.prompt.question
    named = (name for at, name in names(question) if at or " " in name)
    return {"topic": next(named, question)[:60]}


def _write_sentence(player: Player) -> Reply:
    marks = "".join(f"[{each.number}]" for each in player.prompt.passages)
    return {"answer": f"The answer is {player.prompt.text('short_answer').rstrip('.')}{marks and f' {marks}'}."}


def _write_full_answer(player: Player) -> Reply:
    """Say the short answer alone, with the passages that name it: a stand-in writes nothing at length."""
    short = player.prompt.text("short_answer").rstrip(".")
    naming = [each.number for each in player.prompt.passages if short.casefold() in each.text.casefold()]
    return {"answer": f"{short} [{naming[0]}]" if short and naming else "unanswerable"}


def _critique(player: Player) -> Reply:
    """Judge an answer that was read in the passage, which states all of it; there may be none."""
    if answer := _read(player).text:
        return {"relevant": True, "answer": answer, "support": "full", "utility": 5}
    return {"relevant": bool(player.relevant()), "answer": UNANSWERABLE, "support": "none", "utility": 1}


def _score_answer(player: Player) -> Reply:
    """Give each word of a text the log-probability of a stand-in: a likely one if the text is its answer."""
    text, answer = player.prompt.text("continuation"), _read(player).text or UNANSWERABLE
    probability = _LIKELY if key(text) == key(answer) else 1 - _LIKELY
    return {"tokens": [{"text": word, "logprob": math.log(probability)} for word in re.findall(r"\s*\S+", text)]}


def _as_tokens(said: Reply) -> Reply:
    """Write a record as the tokens that Self-RAG's weights write."""
    words = [tokens.get(str(said[name]), str(said[name])) for name, tokens in _TOKENS.items() if name in said]
    logprob = math.log(_LIKELY)
    return {"tokens": [{"text": word, "logprob": logprob, "top": {word: logprob}} for word in words]}


def _judge_complexity(player: Player) -> Reply:
    """Answer from memory alone, where there is one; else count the parts that can be searched for."""
    if player.answer(PromptContents(memory=True)).text:
        return {"searches": "none"}
    return {"searches": "one" if len(player.parts(in_order=True)) < 2 else "several"}


def _judge_support(player: Player) -> Reply:
    """Agree with an answer that is read in the same passages, too."""
    return {"supported": key(_read(player).text) == key(player.prompt.text("short_answer"))}


_STEPS: dict[str, Callable[[Player], Reply]] = {
    "act": _act,
    **dict.fromkeys(("answer", "answer_step_by_step", "answer_in_a_sentence"), _answer),
    "complete": _complete,
    "continue_reasoning": _continue_reasoning,
    "contextualise": lambda player: stand_alone_question(player.prompt),
    "critique": _critique,
    **dict.fromkeys(("decide", "final_answer"), _decide),
    "decompose": lambda player: {"sub_questions": player.parts("#1" in player.prompt.instructions)},
    "deduce": _deduce,
    "extract": _extract,
    "follow_up": _follow_up,
    "follow_up_jointly": _follow_up_jointly,
    "fuse": _fuse,
    "generate_queries": _generate_queries,
    **dict.fromkeys(("ground", "ground_given_gold"), _ground),
    "judge_alignment": _judge_alignment,
    "judge_complexity": _judge_complexity,
    "judge_entailment": _judge_entailment,
    "judge_relevance": lambda player: {"relevant": bool(player.relevant())},
    "judge_support": _judge_support,
    "judge_together": _judge_together,
    "judge_usefulness": _judge_usefulness,
    "name_topic": _name_topic,
    "next_sentence": _next_sentence,
    "next_thought": _next_thought,
    "read_link": lambda player: {**_answer(player), "confidence": 5},
    "reason": _reason_to_search,
    "reason_in_documents": _reason_in_documents,
    "recall_knowledge": lambda player: {"knowledge": _recall(player)},
    **dict.fromkeys(("review", "review_directly"), _review),
    "rewrite_passage": _rewrite_passage,
    "route": _route,
    "score_answer": _score_answer,
    "score_relevance": _score_relevance,
    "select_passages": _select_passages,
    "self_knowledge": lambda player: {"known": bool(player.answer(PromptContents(passages=False, memory=True)).text)},
    "shorten": lambda player: {"answer": _stated(player.prompt.text("reasoning")) or UNANSWERABLE},
    **dict.fromkeys(("snippet", "summarise"), _compress),
    "verifying_questions": _verifying_questions,
    "weigh_passages": _weigh_passages,
    "write_chain": _write_chain,
    "write_passage": lambda player: {"passage": _recall(player)},
    "write_query": _write_query,
    "write_sentence": _write_sentence,
    "write_full_answer": _write_full_answer,
    "write_turn": _write_turn,
}
"""How the reply to each step is made, by the step's name."""
PLAYED_STEPS = frozenset(_STEPS)
"""The steps whose replies a player knows how to make."""


def reply_to_step(player: Player) -> str:
    """Reply to a prompt with one JSON object: by its step, else by answering whatever question it has."""
    said = _STEPS.get(player.prompt.step, _answer)(player)
    return json.dumps(_as_tokens(said) if WRITTEN in player.prompt.blocks else said, ensure_ascii=False)


def as_result(messages: Sequence[BaseMessage], text: str, name: str) -> ChatResult:
    """Make the result of a stand-in model out of its reply to messages; a token is estimated as four characters."""
    read, written = sum((len(each.text) + 3) // 4 for each in messages), (len(text) + 3) // 4
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    message = AIMessage(content=text, usage_metadata=usage, response_metadata={"model_name": name})
    return ChatResult(generations=[ChatGeneration(message=message)])
