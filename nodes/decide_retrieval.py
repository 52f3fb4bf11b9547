"""Decide whether anything is to be looked up."""

from collections.abc import Mapping
from typing import Any

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.reflection_tokens import RETRIEVAL, instruction, worth
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state.baselines import SelfRagContext, SelfRagState
from hopgraph.state.events import SelfKnowledgeJudged
from hopgraph.state.question_tree import ROOT
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs


async def decide_retrieval(state: SelfRagState, runtime: Runtime[SelfRagContext]) -> Mapping[str, Any]:
    """Look up what the model does not know itself: retrieve if the share of Retrieval exceeds the threshold (Self-RAG).

    With reflection tokens it is the share among the two retrieval tokens in the first place of a response; with records
    1 where the model says that it cannot answer, else 0. A reply that cannot be used, or has neither token, leads to a
    retrieval, and so does the end of the budget. A threshold of 0 or 1 takes no call. Writes `needs_retrieval`.
    """
    settings, question = runtime.context, state["question"]
    if settings.retrieval_threshold in (0.0, 1.0):
        return {"needs_retrieval": settings.retrieval_threshold == 0.0}
    wanted: Ask[Any] = Ask("self_knowledge", {"question": question}, SelfKnowledge, SelfKnowledge(known=False))
    if settings.reflection == "tokens":
        text = TextRequest(prompt=instruction(question, yes_no=settings.answer_type == "yes_no"))
        wanted = Ask(wanted.step, wanted.variables, TokenLogprobs, TokenLogprobs(tokens=[]), text=text)
    answered = await ask(runtime, state, wanted)
    if isinstance(answered.record, SelfKnowledge):
        share = float(not answered.record.known)
    else:
        share = worth(answered.record, RETRIEVAL, missing=1.0)
    needed = share > settings.retrieval_threshold
    emit(runtime, SelfKnowledgeJudged(id=ROOT, question=question, known=not needed))
    limit = "budget" if answered.outcome == "budget" else state["stop_reason"]
    return {"needs_retrieval": needed, "stop_reason": limit, "calls": calls_of([answered])}
