"""Replies to all steps as JSON data, made from the answers of any player."""

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
from hopgraph.tools.models.players.chat_replies import make_standalone_question, reply_to_small_talk
from hopgraph.tools.models.players.player import Player, PlayerAnswer, PromptContents, StatedFact
from hopgraph.tools.models.players.prompt_reading import ParsedPrompt
from hopgraph.tools.models.players.wording import find_names, key
from hopgraph.tools.text import content_terms

Reply = dict[str, Any]
_DONT_KNOW = "I don't know"
_CONCLUSION = "So the answer is: "
_NEEDED = "What is needed next is "
_MAX_TEXT = 1_000  # characters; much longer thoughts or analyses are rejected
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
"""Field of a critique → value → Self-RAG's reflection token, in order of generation."""


def _texts(facts: Iterable[StatedFact]) -> list[str]:
    return list(dict.fromkeys(fact.text for fact in facts))


def _quotes(facts: Iterable[StatedFact]) -> list[str]:
    return list(dict.fromkeys(fact.quote for fact in facts if fact.quote))


def _items(prompt: ParsedPrompt, *names: str) -> list[str]:
    return [text for name in names for _, text in prompt.items(name)]


def _next(player: Player, given: PromptContents, asked: Iterable[str] = ()) -> str:
    return next(iter(player.next_questions(given, list(asked))), "")


def _reason(player: Player, given: PromptContents) -> str:
    """State what is known, and what is still unknown."""
    return " ".join([*_texts(player.answer(given).facts), *_unknown(player, given)])[:_MAX_TEXT]


def _unknown(player: Player, given: PromptContents) -> list[str]:
    asked = "" if player.answer(given).text else _next(player, given)
    return [f"It is not known yet: {asked}"] if asked else []


def _explain(found: PlayerAnswer) -> str:
    return " ".join([*_texts(found.facts), f"{_CONCLUSION}{found.text}."])[-_MAX_TEXT:]


def _answer_from_blocks(player: Player) -> PlayerAnswer:
    """Answer from the blocks of the prompt; also from memory if it has no passages, or is BlendFilter's."""
    memory = player.prompt.role.startswith("blendfilter/") or "passages" not in player.prompt.blocks
    return player.answer(
        PromptContents(("sub_answers", "information", "assertions", "history"), memory=memory, wants="read")
    )


def _answer(player: Player) -> Reply:
    found = _answer_from_blocks(player)
    reasoning = (
        _explain(found) if found.text else _reason(player, PromptContents(("sub_answers", "information", "history")))
    )
    return {
        "reasoning": reasoning,
        "answer": found.text or UNANSWERABLE,
        "used_passages": [*found.passages] if found.text else [],
    }


def _reason_to_search(player: Player) -> Reply:
    """State known facts and the next questions; if the prompt does not allow abstaining, also guess their answers."""
    abstains = UNANSWERABLE in player.prompt.instructions
    given = PromptContents(memory=True, wants="read" if abstains else "guess")
    found = player.answer(given)
    known = player.answer(PromptContents(memory=True))
    asked = [] if known.text else [each.rstrip(" ?") for each in player.next_questions(PromptContents(memory=True), [])]
    if not abstains:
        asked = [f"{each}: {player.with_question(f'{each}?').answer(given).text or 'unknown'}." for each in asked]
    ends = [f"{_CONCLUSION}{found.text}."] if found.text and not (abstains and asked) else []
    reasoning = " ".join([*_texts(known.facts), *asked, *ends])[-_MAX_TEXT:]
    answer = found.text if ends else ""
    return {"reasoning": reasoning, "answer": answer or UNANSWERABLE, "used_passages": [*found.passages]}


def _extract(player: Player) -> Reply:
    rows = dict.fromkeys((fact.quote, fact.passage) for fact in player.facts(PromptContents()) if fact.passage)
    return {"useful_information": [{"info": text, "support_passages": [number]} for text, number in rows]}


def _compress(player: Player) -> Reply:
    """Copy the useful sentences of the passages, without their titles."""
    titles = {passage.number: passage.title for passage in player.prompt.passages}
    found = [fact for fact in player.facts(PromptContents()) if fact.passage][:3]
    texts = dict.fromkeys(fact.quote.removeprefix(f"{titles[fact.passage]}: ") for fact in found)
    return {"text": " … ".join(texts)[: 4 * _MAX_TEXT] or "irrelevant"}


def _recall(player: Player) -> str:
    return "\n".join(_texts(player.facts(PromptContents(passages=False, memory=True)))) or _DONT_KNOW


def _complete(player: Player) -> Reply:
    """Supply the next missing fact if it is in memory."""
    shown = player.facts(PromptContents())
    recalled = [fact for fact in player.facts(PromptContents(memory=True)) if fact not in shown and not fact.passage]
    missing = _next(player, PromptContents()) or player.prompt.question
    return {"missing": missing, "passage": recalled[0].text if recalled else _DONT_KNOW}


def _decide(player: Player) -> Reply:
    """Answer if nothing is missing, or always in `final_answer`; else state what is missing."""
    given = PromptContents(("information",), wants="last" if player.prompt.step == "final_answer" else "sure")
    found = player.answer(given)
    asked = [] if found.text else player.next_questions(given, [])[: player.prompt.at_most] or [player.prompt.question]
    return {
        "answer": {"text": found.text or UNANSWERABLE, "confidence": found.confidence if found.text else 1},
        "explanation": " ".join(_texts(found.facts))[:_MAX_TEXT],
        "missing_information": " ".join(asked)[:_MAX_TEXT],
        "used_information": [*found.items] if found.text else [],
    }


def _ground(player: Player) -> Reply:
    """Quote the support of the answer, and revise the answer accordingly."""
    found, passages = player.answer(PromptContents()), player.prompt.passages
    if not found.text or not passages:
        return {"ref": "Empty", "revise": ""}
    return {"ref": (" ".join(_quotes(found.facts)) or passages[0].text)[:_MAX_TEXT], "revise": found.text}


def _judge_together(player: Player) -> Reply:
    enough = bool(player.answer(PromptContents()).text)
    return {"thought": _reason(player, PromptContents()), "enough": enough, "relevant": player.relevant()}


def _judge_passages(player: Player) -> Reply:
    """State what the relevant passages say; `select_passages` uses the last line."""
    chosen = player.relevant()
    lines = [
        f"Passage {fact.passage} says: {fact.quote}"
        for fact in player.facts(PromptContents())
        if fact.passage in chosen
    ]
    numbers = ", ".join(map(str, chosen)) or "none"
    return {"judgement": "\n".join([*(line[:_MAX_TEXT] for line in lines[:20]), f"Relevant passages: {numbers}."])}


def _select_passages(player: Player) -> Reply:
    judgement = player.prompt.text("judgement").lower().rpartition("relevant passages:")[2]
    named = {int(number) for number in re.findall(r"\d{1,9}", judgement)}
    return {"relevant": [passage.number for passage in player.prompt.passages if passage.number in named]}


def _score_relevance(player: Player) -> Reply:
    chosen = player.relevant()
    shown = player.prompt.passages
    return {"ratings": [{"passage": p.number, "rating": 10 if p.number in chosen else 0} for p in shown]}


def _review(player: Player) -> Reply:
    """Judge the passages together, then answer, or state what is missing and search for it."""
    found = player.answer(PromptContents())
    query = "" if found.text else _next(player, PromptContents()) or player.prompt.question
    steps = " ".join(_texts(found.facts))
    analysis = _explain(found) if found.text else f"{steps} Missing: {query}".strip()[:_MAX_TEXT]
    relevant, enough = bool(player.relevant()), bool(found.text)
    return {"relevant": relevant, "enough": enough, "analysis": analysis, "answer": found.text, "query": query}


def _fuse(player: Player) -> Reply:
    """Choose the answer from the passages; if they are missing or insufficient, the most frequent assertion."""
    asserted = {number: _stated(_PASSAGES.sub("", text)) for number, text in player.prompt.items("assertions")}
    most = Counter(key(text) for text in asserted.values() if text).most_common(1)
    agreed = next((text for text in asserted.values() if most and key(text) == most[0][0]), "")
    chosen = player.answer(PromptContents()).text or agreed or _answer_from_blocks(player).text
    used = [number for number, text in asserted.items() if text and key(text) == key(chosen)]
    reasoning = f"{len(used)} of {len(asserted)} assertions say so."
    return {"reasoning": reasoning, "answer": chosen or UNANSWERABLE, "used_assertions": used}


def _stated(text: str) -> str:
    """Return the answer that a text ends with; may be empty."""
    return text.rpartition("answer is: ")[2].strip().removesuffix(".") if "answer is: " in text else ""


def _judge_entailment(player: Player) -> Reply:
    """Judge a statement as supported if the premise contains its words, or at least all its content terms."""
    premise, statement = player.prompt.text("premise"), player.prompt.text("statement")
    needed = frozenset(content_terms(statement))
    is_stated = bool(key(statement)) and f" {key(statement)} " in f" {key(premise)} "
    entailed = is_stated or (bool(needed) and needed <= frozenset(content_terms(premise)))
    return {"supported": float(player.judges("supported", entailed))}


def _judge_alignment(player: Player) -> Reply:
    """Select the candidates that occur verbatim in the missing information."""
    missing = f" {key(player.prompt.text('missing'))} "
    rows = ((number, key(asked)) for number, asked in player.prompt.items("candidates"))
    within = {number: bool(asked) and f" {asked} " in missing for number, asked in rows}
    return {"aligned": [number for number, is_in in within.items() if player.judges("aligned", is_in, number)]}


def _judge_usefulness(player: Player) -> Reply:
    return {"useful": player.judges("useful", bool(player.facts(PromptContents(("statement",), passages=False))))}


def _generate_queries(player: Player) -> Reply:
    asked = player.next_questions(PromptContents(("information",)), _items(player.prompt, "asked"))
    return {"queries": asked[: player.prompt.at_most]}


def _verifying_questions(player: Player) -> Reply:
    """Ask the question in the sentence, else the whole question."""
    named = _ASKED.search(player.prompt.text("sentence"))
    return {"queries": [f"{named[1].strip(' .')}?" if named else player.prompt.question]}


def _write_query(player: Player) -> Reply:
    """State what the passages say, and query what they lack; by default, the question."""
    return {
        "rationale": _reason(player, PromptContents()),
        "query": _next(player, PromptContents()) or player.prompt.question,
    }


def _follow_up(player: Player) -> Reply:
    """Ask the next question, or give the final answer."""
    prompt, given = player.prompt, PromptContents(("history",))
    if found := player.answer(given).text:
        return {"sub_question": "", "answer": "", "final_answer": found}
    asked = _next(player, given, [*_items(prompt, "history"), prompt.text("follow_up")])
    return {"sub_question": asked, "answer": "", "final_answer": "" if asked else UNANSWERABLE}


def _deduce(player: Player) -> Reply:
    """State what is known, then ask the next question with a guess, or give the final answer."""
    reply = {"thought": _reason(player, PromptContents(("history",))), **_follow_up(player)}
    if reply["sub_question"]:
        guess = player.with_question(reply["sub_question"]).answer(PromptContents(passages=False, memory=True))
        reply["answer"] = guess.text
    return reply


def _continue_reasoning(player: Player) -> Reply:
    """State what is known, then search for the next fact, or give the final answer."""
    given = PromptContents(("information",))
    searched = [text.partition("\n")[0] for text in _items(player.prompt, "information")]
    found = player.answer(given).text
    asked = "" if found else _next(player, given, searched)
    return {"thought": _reason(player, given), "sub_question": asked, "final_answer": found or UNANSWERABLE}


def _reason_in_documents(player: Player) -> Reply:
    """Copy the sentences that answer the query, else those that help with the question, one per line."""
    found = player.with_question(player.prompt.text("query")).answer(PromptContents()).facts
    found = [fact for fact in found or player.facts(PromptContents()) if fact.passage][:5]
    numbers = dict.fromkeys(fact.passage for fact in found)
    return {"information": "\n".join(_quotes(found))[:_MAX_TEXT], "used_passages": [*numbers]}


def _follow_up_jointly(player: Player) -> Reply:
    """Answer the last follow-up question from the passages, then ask the next one, or give the final answer."""
    asked = player.prompt.text("follow_up")
    found = player.with_question(asked).answer(PromptContents()) if asked else PlayerAnswer()
    return {"intermediate_answer": found.text, "used_passages": [*found.passages], **_follow_up(player)}


def _write_chain(player: Player) -> Reply:
    """Ask all that can be asked now, given the history."""
    if player.answer(PromptContents(("history",))).text:
        return {"chain": []}
    asked = player.next_questions(PromptContents(("history",), memory=True), _items(player.prompt, "history"))
    return {"chain": [{"query": each, "answer": ""} for each in asked]}


def _act(player: Player) -> Reply:
    """Search for the next fact, or finish."""
    found = player.answer(PromptContents())
    thought = _reason(player, PromptContents())
    if found.text:
        return {"thought": thought, "action": f"finish[{found.text}]", "used_passages": [*found.passages]}
    query = _next(player, PromptContents(), _SEARCHED.findall(player.prompt.text("history")))
    action = f"search[{re.sub(r'[][]', '', query)}]" if query else f"finish[{UNANSWERABLE}]"
    return {"thought": thought, "action": action, "used_passages": []}


def _write_turn(player: Player) -> Reply:
    """Search for the next fact, or answer, between tags."""
    is_last = "last_turn" in player.prompt.blocks
    found = player.answer(PromptContents(wants="last" if is_last else "sure"))
    searched = _SEARCH_TAGS.findall(" ".join(_items(player.prompt, "history")))
    query = "" if found.text or is_last else _next(player, PromptContents(), searched)
    action = f"<search> {query} </search>" if query else f"<answer> {found.text or UNANSWERABLE} </answer>"
    return {"text": f"<think> {_reason(player, PromptContents())} </think>\n{action}"}


def _next_thought(player: Player) -> Reply:
    """State the next fact that is not among the thoughts, else the answer, or what is needed next."""
    given, thoughts = PromptContents(("thoughts",), memory=True), _items(player.prompt, "thoughts")
    found = player.answer(given)
    if new := _first_new(_texts(found.facts if found.text else player.facts(given)), thoughts):
        return {"thought": new}
    if found.text:
        return {"thought": f"{_CONCLUSION}{found.text}."}
    asked = _next(player, given, [each.removeprefix(_NEEDED).rstrip(".") for each in thoughts])
    return {"thought": f"{_NEEDED}{asked.rstrip(' ?')}." if asked else f"{_CONCLUSION}{UNANSWERABLE}."}


def _first_new(texts: Iterable[str], said: Iterable[str]) -> str:
    before = " \n ".join(key(text) for text in said)
    return next((text for text in texts if f" {key(text)} " not in f" {before} "), "")


def _next_sentence(player: Player) -> Reply:
    """State the next new fact, else guess the answer to the next question; empty if nothing is missing."""
    prompt, given = player.prompt, PromptContents(("sentences",))
    found = player.answer(PromptContents())
    useful = found.facts if found.text else player.facts(PromptContents())[:3]
    facts = {fact.quote: fact.passage for fact in useful if fact.passage}
    if new := _first_new(facts, _items(prompt, "sentences", "rejected")):
        return {"sentence": new[:_MAX_TEXT], "used_passages": [facts[new]]}
    asked = "" if player.answer(given).text else _next(player, given)
    if not asked:
        return {"sentence": "", "used_passages": []}
    guess = player.with_question(asked).answer(PromptContents(memory=True, wants="guess")).text
    return {"sentence": f"{asked.rstrip(' ?')}: {guess or 'unknown'}.", "used_passages": []}


def _rewrite_passage(player: Player) -> Reply:
    """State what the passages, the document and memory say, and what is still unknown."""
    given = PromptContents(("document",), memory=True)
    return {"passage": "\n".join([*_texts(player.facts(given)), *_unknown(player, given)])[:_MAX_TEXT] or _DONT_KNOW}


def _route(player: Player) -> Reply:
    """Detect small talk; a bridge question has a part that refers to another, a comparison has independent parts."""
    if (reply := reply_to_small_talk(player.prompt.question)) is not None:
        return {"kind": "small_talk", "reply": reply}
    parts = player.parts(in_order=True)
    is_bridge = any("#" in part for part in parts)
    return {"kind": "single_hop" if len(parts) < 2 else "bridge" if is_bridge else "comparison", "reply": ""}


def _name_topic(player: Player) -> Reply:
    """Return the first name in the question; a single first word does not count."""
    question = player.prompt.question
    named = (name for at, name in find_names(question) if at or " " in name)
    return {"topic": next(named, question)[:60]}


def _write_sentence(player: Player) -> Reply:
    marks = "".join(f"[{each.number}]" for each in player.prompt.passages)
    return {"answer": f"The answer is {player.prompt.text('short_answer').rstrip('.')}{marks and f' {marks}'}."}


def _write_full_answer(player: Player) -> Reply:
    """Return just the short answer, citing the first passage that contains it."""
    short = player.prompt.text("short_answer").rstrip(".")
    naming = [each.number for each in player.prompt.passages if short.casefold() in each.text.casefold()]
    return {"answer": f"{short} [{naming[0]}]" if short and naming else "unanswerable"}


def _critique(player: Player) -> Reply:
    """Critique the answer from the passage: it is fully supported if there is one."""
    if answer := _answer_from_blocks(player).text:
        return {"relevant": True, "answer": answer, "support": "full", "utility": 5}
    return {"relevant": bool(player.relevant()), "answer": UNANSWERABLE, "support": "none", "utility": 1}


def _score_answer(player: Player) -> Reply:
    """Assign each word of a text the same log-probability, high if the text is the player's answer."""
    text, answer = player.prompt.text("continuation"), _answer_from_blocks(player).text or UNANSWERABLE
    probability = _LIKELY if key(text) == key(answer) else 1 - _LIKELY
    return {"tokens": [{"text": word, "logprob": math.log(probability)} for word in re.findall(r"\s*\S+", text)]}


def _as_tokens(reply: Reply) -> Reply:
    """Convert a reply to the tokens that Self-RAG's weights generate."""
    words = [tokens.get(str(reply[name]), str(reply[name])) for name, tokens in _TOKENS.items() if name in reply]
    logprob = math.log(_LIKELY)
    return {"tokens": [{"text": word, "logprob": logprob, "top": {word: logprob}} for word in words]}


def _judge_complexity(player: Player) -> Reply:
    """Choose no search if memory has the answer, else one or several by the number of parts."""
    if player.answer(PromptContents(memory=True)).text:
        return {"searches": "none"}
    return {"searches": "one" if len(player.parts(in_order=True)) < 2 else "several"}


def _judge_support(player: Player) -> Reply:
    """Support the answer if it equals the player's own."""
    return {"supported": key(_answer_from_blocks(player).text) == key(player.prompt.text("short_answer"))}


_STEPS: dict[str, Callable[[Player], Reply]] = {
    "act": _act,
    **dict.fromkeys(("answer", "answer_step_by_step", "answer_in_a_sentence"), _answer),
    "complete": _complete,
    "continue_reasoning": _continue_reasoning,
    "condense_question": lambda player: make_standalone_question(player.prompt),
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
    "read_chain_node": lambda player: {**_answer(player), "confidence": 5},
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
    **dict.fromkeys(("snippet", "summarize"), _compress),
    "verifying_questions": _verifying_questions,
    "judge_passages": _judge_passages,
    "write_chain": _write_chain,
    "write_passage": lambda player: {"passage": _recall(player)},
    "write_query": _write_query,
    "write_sentence": _write_sentence,
    "write_full_answer": _write_full_answer,
    "write_turn": _write_turn,
}
"""Step → function that makes the reply."""
PLAYED_STEPS = frozenset(_STEPS)
"""Steps that players can reply to."""


def reply_to_step(player: Player) -> str:
    """Return one JSON object as reply to a prompt; for an unknown step, the answer to its question."""
    reply = _STEPS.get(player.prompt.step, _answer)(player)
    return json.dumps(_as_tokens(reply) if WRITTEN in player.prompt.blocks else reply, ensure_ascii=False)


def make_result(messages: Sequence[BaseMessage], text: str, name: str) -> ChatResult:
    """Wrap a reply as the result of a chat model; tokens are estimated as four characters."""
    sent, generated = sum((len(each.text) + 3) // 4 for each in messages), (len(text) + 3) // 4
    usage = UsageMetadata(input_tokens=sent, output_tokens=generated, total_tokens=sent + generated)
    message = AIMessage(content=text, usage_metadata=usage, response_metadata={"model_name": name})
    return ChatResult(generations=[ChatGeneration(message=message)])
