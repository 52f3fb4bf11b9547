"""BlendFilter: query generation blending and knowledge filtering.

The paper's claim: a complex question alone misses the passages that it needs, so it is searched three times:
as it is, with a chain of thought over the first passages, and with the model's own knowledge; the model is
its own best filter for the results. Filtered and merged, the passages beat those of any single query.

Paper: "BlendFilter: Advancing Retrieval-Augmented Large Language Models via Query Generation Blending and Knowledge
Filtering" (Wang et al., 2024, arXiv 2402.11129). Sections: retrieve, reason, recall and blend 3.2; judge,
select and unite 3.3; answer 3.4; topic, shorten and the two calls of a filter appendix F. Switches: the queries
Table 5, the union before the filter Remark 2, the number of passages Fig. 3, three samples Fig. 4.

Eleven model calls, ten for yes/no questions (no topic); the longest chain of them is five: reason, judge,
select, answer, shorten. Each step works on all queries in parallel, so that a run can be stopped, edited and
forked at each step.

Where this differs from the paper:
* reason and answer are one prompt in appendix F, with the same demonstrations; here reason has its own, since
  its text is searched for: only facts, gaps filled from own knowledge, no statement of what is not known (and
  such a sentence would not be searched for). With `abstain`, a fact that could only be guessed is named ("where Carol
  Reed was born"), since a wrong guess finds the wrong passages; without it, it is guessed, as in the paper;
* with `abstain`, the reader may say that neither the passages nor its own knowledge give an answer; its prompt prefers
  passages, and an answer that names none is cited as the model's own. The last call never abstains;
* an augmentation that yields nothing leaves the question itself as the query; a query is not searched and filtered
  twice;
* a filter with unusable replies keeps everything, and numbers that were not shown are ignored;
* if nothing is kept for any query, the answer comes from the model's own knowledge and is cited as such;
* an answer that is too long or empty after the last call is taken from the chain of thought; if the last one cannot be
  read, from the one over the first passages;
* of several samples the majority's answer is returned, with all of them in `sampled`; the paper counts the
  best of three, as `hopgraph reproduce blendfilter/figure4` does. They share one run up to the union, and
  differ in the answer;
* demonstrations are off by default and on in the presets of the families that the paper has them for;
* steps beyond the budget are skipped, filters starting with the last query, and the last two calls are
  reserved for the answer.
"""

from typing import Literal, Unpack

from langgraph.runtime import Runtime

from hopgraph.nodes.blend import (
    CALLS_OF_A_FILTER,
    FINAL_CALLS,
    add_found,
    blend,
    first_steps,
    name_topic,
    reason,
    recall,
)
from hopgraph.nodes.core.answer_graph import AnswerGraph, Changes
from hopgraph.nodes.draft_answers import draft_answers, shorten
from hopgraph.nodes.filter_passages import judge_passages, select_passages
from hopgraph.nodes.retrieve import retrieve
from hopgraph.nodes.selection import merge_branches
from hopgraph.state.blendfilter import BlendFilterContext, BlendFilterState, SampledOutput

Context = BlendFilterContext


def route_first_steps(
    _state: BlendFilterState, runtime: Runtime[BlendFilterContext]
) -> list[Literal["reason", "recall", "topic", "blend"]]:
    """List the steps that run in parallel before the queries are blended; without any, go straight to blending."""
    return [*first_steps(runtime.context)] or ["blend"]


def route_branch_filter(
    _state: BlendFilterState, runtime: Runtime[BlendFilterContext]
) -> Literal["each to filter", "as found"]:
    """Return whether each query's passages are filtered before their union."""
    return "each to filter" if runtime.context.filtering == "branch" else "as found"


def route_union_filter(
    _state: BlendFilterState, runtime: Runtime[BlendFilterContext]
) -> Literal["union to filter", "ready"]:
    """Return whether filtering happens after the union."""
    return "union to filter" if runtime.context.filtering == "union" else "ready"


def build(**changes: Unpack[Changes]) -> AnswerGraph[Context]:
    """Build the graph or a variant of it, not yet compiled."""
    builder = AnswerGraph(BlendFilterState, Context, output_schema=SampledOutput, **changes)
    builder.add_node("retrieve", retrieve)
    builder.add_node("reason", reason, reserve_calls=FINAL_CALLS)
    builder.add_node("recall", recall, reserve_calls=FINAL_CALLS)
    builder.add_node("topic", name_topic, reserve_calls=CALLS_OF_A_FILTER + FINAL_CALLS)
    builder.add_node("blend", blend, defer=True)  # after all branches, whatever steps they take
    builder.add_node("retrieve_blended", retrieve)
    builder.add_node("take_top", add_found)
    builder.add_node("judge", judge_passages)
    builder.add_node("select", select_passages)
    builder.add_node("unite", merge_branches)
    builder.add_node("judge_union", judge_passages)
    builder.add_node("select_union", select_passages)
    builder.add_node("answer", draft_answers)
    builder.add_node("shorten", shorten)

    builder.chain("prepare", "retrieve")
    builder.add_conditional_edges("retrieve", route_first_steps, ["reason", "recall", "topic", "blend"])
    builder.add_edge("reason", "blend")
    builder.add_edge("recall", "blend")
    builder.add_edge("topic", "blend")
    builder.add_branch("blend", "queries", {"blended queries": "retrieve_blended"}, {"the question alone": "take_top"})
    builder.chain("retrieve_blended", "take_top")
    builder.add_conditional_edges("take_top", route_branch_filter, {"each to filter": "judge", "as found": "unite"})
    builder.chain("judge", "select", "unite")
    builder.add_conditional_edges("unite", route_union_filter, {"union to filter": "judge_union", "ready": "answer"})
    builder.chain("judge_union", "select_union", "answer", "shorten")
    return builder.finish_after("shorten")


graph = build().compile(name="BlendFilter")
