"""What the rehearsal model replies to each step: what to ask next, how to judge and collect, and what to answer."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import chain

from pydantic import JsonValue

from hopgraph.tools.apps.evaluation.rehearsal.prompt_case import UNANSWERABLE, HopAnswer, PromptCase, sentences_of
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import contains_words, without_mark, word_key, wordings
from hopgraph.tools.models.offline.prompt_reading import PromptPassage, role_of
from hopgraph.tools.models.offline.role_replies import STEPS as OFFLINE_STEPS
from hopgraph.tools.models.offline.role_replies import critique_of, in_asked_form, score_continuation
from hopgraph.tools.text import content_terms

Reply = dict[str, JsonValue]
_UNKNOWN = "I don't know"
_CONCLUSION = "So the answer is: "
_MAX_QUOTE = 1_500  # characters of a quotation; a thought or analysis that is much longer is refused
_SEARCHED = re.compile(r"search\[([^\]\n]{1,500})\]")
_BRACKETS = re.compile(r"[\[\]]")
_NEEDED = "What is needed next is "


def _relevant(case: PromptCase) -> list[PromptPassage]:
    """Judge each passage by itself: it is relevant when it says something of a hop."""
    shown = case.prompt.passages
    return [each for each in shown if (each.number in case.by_passage) != case.errs("relevant", each.number)]


def _numbers_with(known: Mapping[int, str], found: Mapping[int, list[HopAnswer]]) -> list[JsonValue]:
    return [*sorted(number for number, answers in found.items() if any(each.hop.number in known for each in answers))]


def _reason(case: PromptCase, known: Mapping[int, str], between: str = " ") -> str:
    left = [f"It is not known yet: {each}" for each in case.open_questions(known)[:1]]
    return between.join([*case.statements(known), *left])[:_MAX_QUOTE]


def _fact_or_error(case: PromptCase, question: str, fact: str, number: int = 0) -> str:
    return f"{without_mark(question)}: {case.made_up(f'fact:{number}')}." if case.errs("fact", number) else fact


def answer(case: PromptCase) -> Reply:
    """Answer from what is given; from memory too where no passages are, or gaps are to be filled."""
    fills_gaps = role_of(case.messages).startswith("blendfilter/") or "passages" not in case.prompt.blocks
    recalled = case.remembered() if fills_gaps else {}
    known = {**recalled, **case.known("sub_answers", "information", "history")}
    if not case.is_enough(known):
        return {"reasoning": _reason(case, known), "answer": UNANSWERABLE, "used_passages": []}
    said = case.conclude(known)
    reasoning = " ".join([*case.statements(known), f"{_CONCLUSION}{said}."])[-_MAX_QUOTE:]
    return {"reasoning": reasoning, "answer": said, "used_passages": _numbers_with(known, case.by_passage)}


def _answered(case: PromptCase) -> str:
    return str(answer(case)["answer"])


def reason(case: PromptCase) -> Reply:
    """State what the passages and memory have; name what comes next, or guess it and the rest where asked to."""
    known = {**case.remembered(), **case.known()}
    open_hops = [] if case.is_enough(known) else [without_mark(each) for each in case.open_questions(known)]
    said, used = case.conclude(known), _numbers_with(known, case.by_passage)
    if open_hops and UNANSWERABLE in str(case.messages[0].text):
        reasoning = " ".join([*case.statements(known), *open_hops])[-_MAX_QUOTE:]
        return {"reasoning": reasoning, "answer": UNANSWERABLE, "used_passages": used}
    guesses = [f"{asked}: {case.made_up(f'guess:{n}')}." for n, asked in enumerate(open_hops)]
    reasoning = " ".join([*case.statements(known), *guesses, f"{_CONCLUSION}{said}."])[-_MAX_QUOTE:]
    return {"reasoning": reasoning, "answer": said, "used_passages": used}


def extract(case: PromptCase) -> Reply:
    """Collect what each relevant passage says; in an error it is made up, or irrelevant."""
    found: list[JsonValue] = []
    for passage in _relevant(case):
        said = case.by_passage.get(passage.number, [])
        facts = {each.statement: case.target.plan.question_of(each.hop) for each in said}
        for fact, question in (facts or {sentences_of(passage.text)[0]: case.prompt.question}).items():
            info = _fact_or_error(case, question, fact, len(found))
            found.append({"info": info, "support_passages": [passage.number]})
    return {"useful_information": found}


def compress(case: PromptCase) -> Reply:
    """Copy the sentences of the passage that have what is needed, without the title that is shown with the text."""
    texts: list[str] = []
    for passage in _relevant(case):
        found = case.by_passage.get(passage.number, [])
        texts += [each.statement.removeprefix(f"{passage.title}: ") for each in found] or sentences_of(passage.text)[:1]
    return {"text": " … ".join(dict.fromkeys(texts))[: 4 * _MAX_QUOTE] or "irrelevant"}


def _recall(case: PromptCase) -> str:
    question = case.target.plan.question_of(case.hops[0]) if case.hops else case.prompt.question
    return _fact_or_error(case, question, "\n".join(case.statements(case.remembered())) or _UNKNOWN)


def rewrite_passage(case: PromptCase) -> Reply:
    """State what the passages, the document and memory have, and what is to be found next."""
    document = case.found_in_text(case.prompt.text("document"))
    known = {**case.remembered(), **{each.hop.number: each.answer for each in document}, **case.known()}
    return {"passage": _fact_or_error(case, case.prompt.question, _reason(case, known, "\n") or _UNKNOWN)}


def complete(case: PromptCase) -> Reply:
    """Supply the next fact that is missing, if it is known from memory."""
    known, shown = case.known(), case.statements(case.known())
    missing = case.next_question(known) or case.prompt.question
    recalled = (each for each in case.statements({**case.remembered(), **known}) if each not in shown)
    return {"missing": missing, "passage": _fact_or_error(case, missing, next(recalled, _UNKNOWN))}


def final_answer(case: PromptCase) -> Reply:
    """Answer, also when the information has only the hop that has the answer."""
    known, (plan, part) = case.known("information"), case.target
    if part is None and plan.last_decides and plan.hops[-1].number in known:
        known = {**plan.gold_answers, **known}
    return _decision(case, known)


def _decision(case: PromptCase, known: Mapping[int, str]) -> Reply:
    """Answer when every hop is known, else say what is missing."""
    enough = case.is_enough(known)
    missing = "" if enough else " ".join(case.open_questions(known)) or case.prompt.question
    return {
        "answer": {"text": case.conclude(known) if enough else UNANSWERABLE, "confidence": 5 if enough else 1},
        "explanation": " ".join(case.statements(known))[:_MAX_QUOTE],
        "missing_information": missing,
        "used_information": _numbers_with(known, case.by_item("information")) if enough else [],
    }


def ground(case: PromptCase) -> Reply:
    """Cite a sentence for each hop, and revise the answer by them."""
    known = case.known()
    if not case.is_enough(known) or not case.prompt.passages:
        return {"ref": "Empty", "revise": ""}
    cited: dict[int, str] = {}
    for each in chain(*case.by_passage.values()):
        cited.setdefault(each.hop.number, each.statement)
    ref = " ".join(dict.fromkeys(cited.values())) or sentences_of(case.prompt.passages[0].text)[0]
    return {"ref": ref[:_MAX_QUOTE], "revise": case.conclude(known)}


def judge_together(case: PromptCase) -> Reply:
    """Say whether the passages are enough together, and name those that say something that the answer needs."""
    known = case.known()
    named: list[JsonValue] = [each.number for each in _relevant(case)]
    return {"thought": _reason(case, known), "enough": case.is_enough(known), "relevant": named}


def weigh_passages(case: PromptCase) -> Reply:
    """Say of each passage what it says; `select_passages` goes by the last line."""
    chosen = [each.number for each in _relevant(case)]
    lines = [f"Passage {n} says: {found[0].statement}" for n, found in case.by_passage.items() if n in chosen]
    numbers = ", ".join(map(str, chosen)) or "none"
    return {"judgement": "\n".join([*(line[:_MAX_QUOTE] for line in lines), f"Relevant passages: {numbers}."])}


def review(case: PromptCase) -> Reply:
    """Judge the passages as one whole, then answer, or say what is missing and search for it."""
    known = case.known()
    enough = case.is_enough(known)
    steps = " ".join(case.statements(known))
    said = case.conclude(known) if enough else ""
    query = "" if enough else case.next_question(known) or case.prompt.question
    analysis = f"{steps} {_CONCLUSION}{said}."[-_MAX_QUOTE:] if enough else f"{steps} Missing: {query}"[:_MAX_QUOTE]
    relevant = bool(case.by_passage) != case.errs("relevant")
    return {"relevant": relevant, "enough": enough, "analysis": analysis.strip(), "answer": said, "query": query}


def fuse(case: PromptCase) -> Reply:
    """Take the answer that the passages have; where they are not shown or not enough the one most often asserted."""
    asserted = {number: said for number, text in case.prompt.items("assertions") if (said := _asserted_in(text))}
    known = case.known()
    proven = case.conclude(known) if case.covers(known) else ""
    most = Counter(word_key(text) for text in asserted.values()).most_common(1)
    agreed = next((text for text in asserted.values() if most and word_key(text) == most[0][0]), "")
    chosen = proven or (case.made_up("answer") if agreed and case.errs("answer") else agreed)
    used: list[JsonValue] = [n for n, text in asserted.items() if word_key(text) == word_key(chosen)]
    reasoning = f"{len(used)} of {len(asserted)} assertions say so."
    return {"reasoning": reasoning, "answer": chosen or UNANSWERABLE, "used_assertions": used}


def _asserted_in(text: str) -> str:
    """Return the answer that an assertion comes to; empty when it has none."""
    said = text.partition(_CONCLUSION)[2]
    return (said.rpartition(" [passages ")[0] or said).strip().removesuffix(".")


def score_relevance(case: PromptCase) -> Reply:
    """Rate each passage: 10 for a relevant one, 0 for any other."""
    chosen = {each.number for each in _relevant(case)}
    return {"ratings": [{"passage": p.number, "rating": 10 if p.number in chosen else 0} for p in case.prompt.passages]}


def judge_entailment(case: PromptCase) -> Reply:
    """Judge whether the premise has the statement's words, or at least all of its content terms."""
    premise, statement = case.prompt.text("premise"), case.prompt.text("statement")
    needed = frozenset(content_terms(statement))
    entailed = contains_words(premise, statement) or (bool(needed) and needed <= frozenset(content_terms(premise)))
    return {"supported": float(entailed != case.errs("supported"))}


def judge_alignment(case: PromptCase) -> Reply:
    """Name the candidates that are asked in the missing information, word for word."""
    missing, candidates = case.prompt.text("missing"), case.prompt.items("candidates")
    return {"aligned": [n for n, asked in candidates if contains_words(missing, asked) != case.errs("aligned", n)]}


def generate_queries(case: PromptCase) -> Reply:
    """Ask for everything that can be asked now, in words that were not used before."""
    asked = [text for _, text in case.prompt.items("asked")]
    return {"queries": [*case.open_questions(case.known("information"), asked)[: case.prompt.at_most]]}


def verifying_questions(case: PromptCase) -> Reply:
    """Ask the hop's question that the sentence answers or names, else the whole question."""
    plan, sentence = case.target.plan, case.prompt.text("sentence")
    ways = (way for hop in case.hops for way in wordings(plan.question_of(hop), plan.self_contained(hop)))
    return {"queries": [case.or_wrong(next((w for w in ways if contains_words(sentence, w)), case.prompt.question), 0)]}


def write_query(case: PromptCase) -> Reply:
    """Ask for what the passages lack, after what they have; the question itself where they lack nothing."""
    known = case.known()
    return {"rationale": _reason(case, known), "query": case.next_question(known) or case.prompt.question}


def follow_up(case: PromptCase) -> Reply:
    """Ask the next question, or give the final answer."""
    known = case.known("history")
    if case.is_enough(known):
        return {"sub_question": "", "answer": "", "final_answer": case.conclude(known)}
    before = [*(text for _, text in case.prompt.items("history")), case.prompt.text("follow_up")]
    asked = case.next_question(known, before)
    return {"sub_question": asked, "answer": "", "final_answer": "" if asked else UNANSWERABLE}


def write_chain(case: PromptCase) -> Reply:
    """Ask all that can be asked now; what the history has is known."""
    known, history = case.known("history"), [text for _, text in case.prompt.items("history")]
    asked = [] if case.is_enough(known) else case.open_questions({**case.remembered(), **known}, history)
    return {"chain": [{"query": each, "answer": ""} for each in asked]}


def follow_up_jointly(case: PromptCase) -> Reply:
    """Answer the last follow-up question from the passages, then ask the next one, or give the final answer."""
    asked, plan = word_key(case.prompt.text("follow_up")), case.target.plan
    hops = [h for h in case.hops if asked in map(word_key, wordings(plan.question_of(h), plan.self_contained(h)))]
    found = {n: each for n, said in case.by_passage.items() for each in said if each.hop in hops}
    said = next((each.answer for each in found.values()), "")
    if said and case.errs("intermediate"):
        said = case.made_up("intermediate")
    return {"intermediate_answer": said, "used_passages": [*found], **follow_up(case)}


def deduce(case: PromptCase) -> Reply:
    """Ask the next question with a guess, or give the final answer; say first what is known."""
    reply = {"thought": _reason(case, case.known("history")), **follow_up(case)}
    if not reply["sub_question"]:
        return reply
    if case.errs("guess"):
        return {**reply, "answer": case.made_up("guess")}
    plan, hop = case.book.find(str(reply["sub_question"]))
    guess = case.remembered().get(hop.number, "") if hop and plan is case.target.plan else ""
    return {**reply, "answer": guess}


def act(case: PromptCase) -> Reply:
    """Search for the next thing, or finish."""
    known = case.known()
    thought = _reason(case, known)
    if case.is_enough(known):
        action = f"finish[{case.conclude(known)}]"
        return {"thought": thought, "action": action, "used_passages": _numbers_with(known, case.by_passage)}
    query = _BRACKETS.sub("", case.next_question(known, _SEARCHED.findall(case.prompt.text("history"))))
    action = f"search[{query}]" if query else f"finish[{UNANSWERABLE}]"
    return {"thought": thought, "action": action, "used_passages": []}


def next_thought(case: PromptCase) -> Reply:
    """State the next fact that no thought has yet, else what has to be found; then the answer."""
    known = {**case.remembered(), **case.known("thoughts")}
    thoughts = [text for _, text in case.prompt.items("thoughts")]
    new = [each for each in case.statements(known) if not any(contains_words(text, each) for text in thoughts)]
    if new:
        return {"thought": _fact_or_error(case, new[0].partition(": ")[0], new[0])}
    if case.is_enough(known):
        return {"thought": f"{_CONCLUSION}{case.conclude(known)}."}
    query = case.next_question(known, [text.removeprefix(_NEEDED).rstrip(".") for text in thoughts])
    return {"thought": f"{_NEEDED}{query.rstrip(' ?')}." if query else f"{_CONCLUSION}{UNANSWERABLE}."}


def next_sentence(case: PromptCase) -> Reply:
    """State the next fact that no sentence has yet, else guess what is asked next; nothing when all is said."""
    known = case.known("sentences")
    said = [text for name in ("sentences", "rejected") for _, text in case.prompt.items(name)]
    facts = ((each.statement, n) for n, found in case.by_passage.items() for each in found)
    new = next(((fact, n) for fact, n in facts if not any(contains_words(text, fact) for text in said)), None)
    if new:
        return {"sentence": _fact_or_error(case, case.prompt.question, new[0][:_MAX_QUOTE]), "used_passages": [new[1]]}
    asked = "" if case.is_enough(known) else case.next_question(known)
    return {"sentence": f"{without_mark(asked)}: {case.made_up('guess')}." if asked else "", "used_passages": []}


def decompose(case: PromptCase) -> Reply:
    """Break the question down into its hops, self-contained or, if the prompt says so, referring; empty for one hop."""
    plan, part = case.target
    hops = plan.asked[: case.prompt.at_most] if part is None and len(plan.asked) > 1 else ()
    places = {hop.number: f"#{place}" for place, hop in enumerate(hops, start=1)}
    in_order = "#1" in case.prompt.instructions
    asked = [hop.filled_with(places) if in_order else plan.self_contained(hop) for hop in hops]
    return {"sub_questions": [case.or_wrong(text, number) for number, text in enumerate(asked)]}


def route(case: PromptCase) -> Reply:
    """Distinguish a bridge from a comparison by the hops; by rules where the question is not known."""
    if not case.hops:
        return OFFLINE_STEPS["route"](case.prompt)
    hops = case.target.plan.asked if case.target.hop is None else case.hops
    bridge = any(hop.needs for hop in hops)
    return {"kind": "single_hop" if len(hops) < 2 else "bridge" if bridge else "comparison", "reply": ""}


_BY_RULES = ("contextualise", "name_topic", "select_passages", "shorten", "write_sentence")
"""Steps that take no knowledge of the question: the offline model's replies."""
_Step = Callable[[PromptCase], Reply]
_REPLIES: tuple[_Step, ...] = (
    *(act, decompose, deduce, follow_up, follow_up_jointly, generate_queries, next_thought, route),
    *(answer, complete, compress, extract, final_answer, fuse, rewrite_passage),
    *(ground, judge_alignment, judge_entailment, judge_together),
    *(reason, review, score_relevance, weigh_passages),
    *(next_sentence, verifying_questions, write_chain, write_query),
)
"""Each is named after its step."""
_STEPS: dict[str, _Step] = {
    **{each.__name__: each for each in _REPLIES},
    "critique": lambda case: critique_of(_answered(case), relevant=bool(_relevant(case))),
    "decide": lambda case: _decision(case, case.known("information")),
    "judge_relevance": lambda case: {"relevant": bool(_relevant(case))},
    "judge_usefulness": lambda case: {
        "useful": bool(case.found_in_text(case.prompt.text("statement"))) != case.errs("useful")
    },
    "recall_knowledge": lambda case: {"knowledge": _recall(case)},
    "answer_in_a_sentence": answer,
    "ground_given_gold": ground,
    "read_link": lambda case: {**answer(case), "confidence": 5},
    "review_directly": review,
    "score_answer": lambda case: score_continuation(case.prompt, _answered(case)),
    "self_knowledge": lambda case: {"known": case.answers(case.remembered()) != case.errs("known")},
    "snippet": compress,
    "summarise": compress,
    "write_passage": lambda case: {"passage": _recall(case)},
}


def reply(case: PromptCase) -> Reply:
    """Reply to a prompt: by its step, else by answering whatever question it has."""
    step = case.prompt.step
    said = OFFLINE_STEPS[step](case.prompt) if step in _BY_RULES else _STEPS.get(step, answer)(case)
    return in_asked_form(case.prompt, said)
