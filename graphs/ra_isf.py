"""RA-ISF: retrieval augmentation with iterative self-feedback.

The paper's claim: a model that first judges whether it route_self_knowledge the answer itself, then whether a retrieved
passage is relevant, and breaks a question down only when neither helps, is not led astray by irrelevant
passages and spends its effort on the hard parts. Each part is solved in the same way, down to a depth of D_th.

Paper: "RA-ISF: Learning to Answer and Understand from Retrieval Augmentation via Iterative Self-Feedback" (Liu et al.,
2024, arXiv 2403.06840). Sections: self_knowledge, retrieve, judge_relevance, both answers, decompose and compose 3.1
and Algorithm 1; give_up its lines 2-4 and Table 2; joint judging and answers with their reasoning Tables 11-13.

The questions form a tree in the state. Open questions are solved side by side, each in a run of the subgraph
`solve`; one that refers to the answers of earlier parts opens when these are settled, and a question is composed
when all its parts are. A run can be stopped, edited and forked between questions. Within one it cannot: each question
takes its own way through the modules, and drawn flat all would wait at every module for the slowest.

Where this differs from the paper:
* a part may refer to the answer of an earlier one (`#1`), and waits for it; where that is unknown, so is the part.
  Algorithm 1 asks all parts at once, each by itself: `part_order=side_by_side`;
* whether the passages are enough is judged of all together (Tables 11-13), and a question that they do not answer is
  broken down, however relevant some are; `judge=each` asks of each only whether it is relevant (Algorithm 1);
* the answer is made from the relevant passages (Equation 3), not from all (Algorithm 1, line 14);
* a model that may abstain can find that it does not know after all, or that the passages do not say it: then the
  next module has its turn, and a question that is still unsolved in the end gets a best effort from what was found;
* at most `max_sub_questions` parts, none that repeats a question above it, and at most `max_questions` in all;
* only the question itself is answered with yes or no in that setting, its parts with what they ask for;
* an answer rests on its parts' passages, and these are shown to the parent again (`carry_evidence`);
* the paper's three sub-models are roles that can have their own models; prompts replace training;
* the budget: when it is used up, its last call answers from what is settled by then.

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
    """Choose the first module: none beyond D_th; the self-knowledge module unless it is switched off."""
    if question_of(state)["depth"] > runtime.context.max_depth:
        return "too deep"
    return "within D_th" if runtime.context.self_knowledge else _without_knowledge(runtime.context)


def _without_knowledge(settings: RaIsfContext) -> Literal["look up", "break down", "give up"]:
    return "look up" if settings.passage_relevance else _without_passages(settings)


def route_self_knowledge(
    state: SolveState, runtime: Runtime[RaIsfContext]
) -> Literal["known", "look up", "break down", "give up"]:
    """Read the self-knowledge module's verdict."""
    return "known" if state["known"] else _without_knowledge(runtime.context)


def route_known_answer(
    state: SolveState, runtime: Runtime[RaIsfContext]
) -> Literal["answered", "look up", "break down", "give up"]:
    """Return whether the model did answer from what it route_self_knowledge; what it cannot is looked up."""
    return "answered" if question_of(state)["how"] else _without_knowledge(runtime.context)


def route_relevance(state: SolveState, runtime: Runtime[RaIsfContext]) -> Literal["relevant", "break down", "give up"]:
    """Return whether there are passages to answer from; if not, the question is decomposed unless that is off."""
    return "relevant" if state["knowledge"][0]["excerpts"] else _without_passages(runtime.context)


def route_answer(state: SolveState, runtime: Runtime[RaIsfContext]) -> Literal["answered", "break down", "give up"]:
    """Return whether the passages did give an answer; if not, the question is broken down as if there were none."""
    return "answered" if question_of(state)["how"] else _without_passages(runtime.context)


def _without_passages(settings: RaIsfContext) -> Literal["break down", "give up"]:
    return "break down" if settings.decomposition else "give up"


def route_frontier(
    state: RaIsfState, runtime: Runtime[RaIsfContext]
) -> list[Send] | Literal["settled", "left unsolved"]:
    """Send every question that can go on to its step; without any, end."""
    if state["branches"]:
        return [Send(branch["step"], branch_input(state, branch)) for branch in state["branches"]]
    return "left unsolved" if is_left_unsolved(state["tree"][ROOT_QUESTION], runtime.context) else "settled"


def build_solve() -> MethodGraph:
    """Draw how one question is solved (Algorithm 1, lines 2-16)."""
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
    """Build the graph, or a variant of it: its nodes and edges, not yet compiled."""
    builder = AnswerGraph(RaIsfState, Context, **changes)
    builder.add_node("plant", init_tree)
    builder.add_node("frontier", frontier)
    builder.add_node("solve", build_solve().compile(name="solve"))
    builder.add_node("compose", compose)
    builder.add_node("best_effort", best_effort)

    builder.chain("prepare", "plant", "frontier")
    builder.add_conditional_edges(
        "frontier",
        route_frontier,
        {"open": "solve", "parts settled": "compose", "settled": "finish", "left unsolved": "best_effort"},
    )
    builder.add_edge("solve", "frontier")
    builder.add_edge("compose", "frontier")
    return builder.finish_after("best_effort")


graph = build().compile(name="RA-ISF")
