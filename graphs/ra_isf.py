"""RA-ISF: retrieval augmentation with iterative self-feedback.

The paper's claim: a model that first judges whether it knows the answer itself, then whether a retrieved
passage is relevant, and decomposes a question only when neither helps, is not led astray by irrelevant
passages and spends its effort on the hard parts. Each part is solved in the same way, down to a depth of D_th.

Paper: "RA-ISF: Learning to Answer and Understand from Retrieval Augmentation via Iterative Self-Feedback" (Liu et al.,
2024, arXiv 2403.06840). Sections: self_knowledge, retrieve, judge_relevance, both answers, decompose and compose 3.1
and Algorithm 1; give_up its lines 2-4 and Table 2; joint judging and answers with their reasoning Tables 11-13.

The questions form a tree in the state. Open questions are solved in parallel, each in a run of the subgraph
`solve`; one that refers to the answers of earlier parts opens when these are settled, and a question is composed
when all its parts are. A run can be stopped, edited and forked between questions, but not within one: each question
takes its own way through the modules, and in a flat graph all would wait at every module for the slowest.

Where this differs from the paper:
* a part may refer to the answer of an earlier one (`#1`), and waits for it; if that is unknown, so is the part.
  Algorithm 1 asks all parts at once, independently: `part_order=side_by_side`;
* sufficiency is judged for all passages together (Tables 11-13), and a question that they do not answer is
  decomposed, however relevant some are; `judge=each` only asks whether each passage is relevant (Algorithm 1);
* the answer is made from the relevant passages (Equation 3), not from all (Algorithm 1, line 14);
* a model that may abstain can find that it does not know after all, or that the passages do not say: then the
  next module takes over, and a question that remains unsolved gets a best-effort answer from what was found;
* at most `max_sub_questions` parts, none that repeats a question above it, and at most `max_questions` in total;
* with yes/no answers, only the original question is answered with yes or no; its parts get what they ask for;
* an answer is supported by its parts' passages, which are shown to the parent again (`carry_evidence`);
* the paper's three sub-models are roles that can have their own models; prompts replace training;
* when the budget is used up, its last call answers from what is settled so far.

Passages are shown whole: the 64 tokens of section 4.3 are the length of the retrieval query in the work that it
follows (Ram et al., 2023), not of passages.
"""

from typing import Literal, Unpack

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from langgraph.types import Send

from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.judge_relevance import judge_relevance
from hopgraph.nodes.question_tree import branch_input, question_of
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.self_knowledge import self_knowledge
from hopgraph.nodes.solve_question import best_effort, compose, give_up, make_answer_question_node
from hopgraph.nodes.split import frontier, init_tree, is_left_unsolved, split
from hopgraph.state.question_tree import ROOT_QUESTION
from hopgraph.state.ra_isf import RaIsfContext, RaIsfState, SolveOutput, SolveState

Context = RaIsfContext


def route_start(
    state: SolveState, runtime: Runtime[RaIsfContext]
) -> Literal["within D_th", "too deep", "look up", "break down", "give up"]:
    """Choose the first module: none beyond D_th; the self-knowledge module unless it is disabled."""
    if question_of(state)["depth"] > runtime.context.max_depth:
        return "too deep"
    return "within D_th" if runtime.context.self_knowledge else _without_knowledge(runtime.context)


def _without_knowledge(settings: RaIsfContext) -> Literal["look up", "break down", "give up"]:
    return "look up" if settings.passage_relevance else _without_passages(settings)


def route_self_knowledge(
    state: SolveState, runtime: Runtime[RaIsfContext]
) -> Literal["known", "look up", "break down", "give up"]:
    """Route by the self-knowledge module's verdict."""
    return "known" if state["known"] else _without_knowledge(runtime.context)


def route_known_answer(
    state: SolveState, runtime: Runtime[RaIsfContext]
) -> Literal["answered", "look up", "break down", "give up"]:
    """Return whether the model answered from its own knowledge; if not, the question is looked up."""
    return "answered" if question_of(state)["how"] else _without_knowledge(runtime.context)


def route_relevance(state: SolveState, runtime: Runtime[RaIsfContext]) -> Literal["relevant", "break down", "give up"]:
    """Return whether there are passages to answer from; if not, the question is decomposed unless that is disabled."""
    return "relevant" if state["knowledge"][0]["excerpts"] else _without_passages(runtime.context)


def route_answer(state: SolveState, runtime: Runtime[RaIsfContext]) -> Literal["answered", "break down", "give up"]:
    """Return whether the passages gave an answer; if not, the question is decomposed as if there were none."""
    return "answered" if question_of(state)["how"] else _without_passages(runtime.context)


def _without_passages(settings: RaIsfContext) -> Literal["break down", "give up"]:
    return "break down" if settings.decomposition else "give up"


def route_frontier(
    state: RaIsfState, runtime: Runtime[RaIsfContext]
) -> list[Send] | Literal["settled", "left unsolved"]:
    """Send every question that can proceed to its step; end if there is none."""
    if state["branches"]:
        return [Send(branch["step"], branch_input(state, branch)) for branch in state["branches"]]
    return "left unsolved" if is_left_unsolved(state["tree"][ROOT_QUESTION], runtime.context) else "settled"


def build_solve() -> MethodGraph:
    """Build the subgraph that solves one question (Algorithm 1, lines 2-16)."""
    builder = MethodGraph(SolveState, Context, output_schema=SolveOutput)
    builder.add_node("self_knowledge", self_knowledge)
    builder.add_node("answer_known", make_answer_question_node(own_knowledge=True))
    builder.add_node("retrieve", retrieve)
    builder.add_node("judge_relevance", judge_relevance)
    builder.add_node("answer", make_answer_question_node(own_knowledge=False))
    builder.add_node("decompose", split, reserve_calls=1)
    builder.add_node("give_up", give_up)

    unsolved = {"break down": "decompose", "give up": "give_up"}
    unknown = {"look up": "retrieve", **unsolved}
    builder.add_conditional_edges(
        START, route_start, {"within D_th": "self_knowledge", "too deep": "give_up", **unknown}
    )
    builder.add_conditional_edges("self_knowledge", route_self_knowledge, {"known": "answer_known", **unknown})
    builder.add_conditional_edges("answer_known", route_known_answer, {"answered": END, **unknown})
    builder.add_edge("retrieve", "judge_relevance")
    builder.add_conditional_edges("judge_relevance", route_relevance, {"relevant": "answer", **unsolved})
    builder.add_conditional_edges("answer", route_answer, {"answered": END, **unsolved})
    builder.add_edge("decompose", END)
    builder.add_edge("give_up", END)
    return builder


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(RaIsfState, Context, **changes)
    builder.add_node("init_tree", init_tree)
    builder.add_node("frontier", frontier)
    builder.add_node("solve", build_solve().compile(name="solve"))
    builder.add_node("compose", compose)
    builder.add_node("best_effort", best_effort)

    builder.chain("prepare", "init_tree", "frontier")
    builder.add_conditional_edges(
        "frontier",
        route_frontier,
        {"open": "solve", "parts settled": "compose", "settled": "finish", "left unsolved": "best_effort"},
    )
    builder.add_edge("solve", "frontier")
    builder.add_edge("compose", "frontier")
    return builder.finish_after("best_effort")


graph = build().compile(name="RA-ISF")
