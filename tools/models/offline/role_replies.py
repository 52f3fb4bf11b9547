"""What the offline model replies to each step, as plain JSON data."""

from collections.abc import Callable

from pydantic import JsonValue

from hopgraph.tools.models.offline.answer_selection import Finding, find, gather
from hopgraph.tools.models.offline.chain import Evidence
from hopgraph.tools.models.offline.chat_replies import contextualise, route
from hopgraph.tools.models.offline.prompt_blocks import Prompt, unescape
from hopgraph.tools.models.offline.query_writing import next_queries
from hopgraph.tools.models.offline.select import useful
from hopgraph.tools.models.offline.step_replies import REPLIES, answer

Reply = dict[str, JsonValue]
UNANSWERABLE = "unanswerable"
_MOST_STATEMENTS = 8


def extract(prompt: Prompt) -> Reply:
    """List the sentences that are useful for the question, each as a statement that stands alone."""
    chosen = useful(prompt.question, prompt.passages)[:_MOST_STATEMENTS]
    return {"useful_information": [{"info": s.info, "support_passages": [s.passage]} for s in chosen]}


def recall_knowledge(prompt: Prompt) -> Reply:
    """Say that nothing is known: the model has no knowledge of its own."""
    del prompt
    return {"knowledge": "I don't know"}


def _decision(finding: Finding, text: str, evidence: Evidence) -> Reply:
    quotes = [s.text for s in evidence.statements if s.number in finding.used]
    refused = text == UNANSWERABLE
    missing = finding.missing or f"what answers the question: {evidence.question.text[:300]}"
    return {
        "answer": {"text": text, "confidence": 1 if refused else max(1, min(5, round(5 * finding.probability)))},
        "explanation": "" if refused else " ".join(quotes),
        "missing_information": missing if refused else "",
        "used_information": [] if refused else list(finding.used),
    }


def _found(prompt: Prompt) -> tuple[Finding, Evidence]:
    evidence = gather(prompt.question, prompt.items("information"))
    return find(evidence, yes_no="yes_no" in prompt.blocks.get("answer_type", "")), evidence


def decide(prompt: Prompt) -> Reply:
    """Answer when a chain of statements carries the question well enough, else say what is missing."""
    finding, evidence = _found(prompt)
    return _decision(finding, finding.text if finding.enough else UNANSWERABLE, evidence)


def final_answer(prompt: Prompt) -> Reply:
    """Give the best answer that the statements hold, unless it is a guess that no asked relation speaks for."""
    finding, evidence = _found(prompt)
    return _decision(finding, finding.text if finding.related and finding.text else UNANSWERABLE, evidence)


def generate_queries(prompt: Prompt) -> Reply:
    """Ask for the names that the chain has reached, with what the question still asks of them."""
    evidence = gather(prompt.question, prompt.items("information"))
    asked = [text for _, text in prompt.items("asked")]
    return {
        "queries": list(next_queries(evidence, asked, unescape(prompt.blocks.get("missing", "")))[: prompt.at_most])
    }


def snippet(prompt: Prompt) -> Reply:
    """Copy the passage's sentences that are useful for the question, in the passage's order."""
    kept = sorted(useful(prompt.question, prompt.passages)[:3], key=lambda s: s.place)
    return {"text": " ".join(s.sentence for s in kept) or "irrelevant"}


STEPS: dict[str, Callable[[Prompt], Reply]] = {
    "extract": extract,
    "recall_knowledge": recall_knowledge,
    "decide": decide,
    "final_answer": final_answer,
    "generate_queries": generate_queries,
    "summarise": snippet,
    "snippet": snippet,
    "contextualise": contextualise,
    "route": route,
    **REPLIES,
}
"""The reply to each step by its name."""


def reply(prompt: Prompt) -> Reply:
    """Reply to a prompt: by its step, else from whatever passages and question it holds."""
    return STEPS.get(prompt.step, answer)(prompt)
