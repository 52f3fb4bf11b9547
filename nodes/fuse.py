"""End a review tree: collect the reader's evidence, answer from the accepted paths, and rank their paragraphs."""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite
from pydantic import Field

from hopgraph.nodes.core.ask import CallResult, ModelCall, answer_type_variable, ask
from hopgraph.nodes.core.evidence_review import with_statement_review
from hopgraph.nodes.core.excerpts import passages_by_id, prompt_passages, with_title
from hopgraph.nodes.core.reply_text import LongText, ReplyModel, ShortText, ShownNumbers, short_answer
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.finish import cited_evidence
from hopgraph.nodes.reading import AnswerReply, answer_update, ask_reader, reading_update
from hopgraph.nodes.review import needs_more
from hopgraph.nodes.review_tree import (
    ReviewTree,
    accepted_nodes,
    majority_nodes,
    nodes_with_status,
    passages_on_path,
    whole_excerpts,
)
from hopgraph.state import Draft, Evidence, Excerpt, Knowledge, Passage, Update
from hopgraph.state.events import Fused
from hopgraph.state.tree_of_reviews import ReviewContext, ReviewNode, ReviewTreeState, TreeOfReviewsContext
from hopgraph.tools.models import count_tokens
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text.comparison import lexical_similarity


@with_statement_review
async def collect_evidence(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Update:
    """Collect what a reader falls back on if no path was accepted (*ours*): the paragraphs of relevant paths.

    Without any, those not reviewed yet, else all, up to `reader_tokens`. `iteration` is the depth of the
    tree; `stop_reason` is set when paths of full depth needed more and none was accepted. Writes `knowledge`,
    `iteration` and `stop_reason`.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    nodes = [node for node in state["tree"].values() if node["parent"]]
    relevant = [node for node in nodes if node["verdict"] in ("accept", "search")]
    found = passages_of(state["tree"], relevant or nodes_with_status(state["tree"], "open") or nodes)
    texts = [{key: with_title(passages[key])} for key in found]
    kept = [found[index] for index in within(texts, settings.reader_tokens)]
    update: Update = {
        "knowledge": [Knowledge(query=state["question"], excerpts=whole_excerpts(kept, passages))],
        "iteration": max([1, *(node["depth"] for node in nodes)]),
    }
    deepest = any(node["depth"] == settings.max_depth and needs_more(node, settings) for node in nodes)
    if deepest and not state["evidence"] and not state["stop_reason"]:
        update["stop_reason"] = "max_depth"
    return update


def passages_of(tree: ReviewTree, nodes: Sequence[ReviewNode]) -> list[str]:
    """List the passages on the paths to nodes, without repeats, in order."""
    return list(dict.fromkeys(key for node in nodes for key in passages_on_path(tree, node)))


def within(pieces: Sequence[Mapping[str, str]], most: int) -> list[int]:
    """List the indexes of the pieces that together fit a number of tokens (offline counter); the first always does.

    A piece maps sources to texts; what several share counts once. One that does not fit is skipped, and
    later ones are still tried.
    """
    chosen: list[int] = []
    shown: dict[str, int] = {}
    for index, texts in enumerate(pieces):
        with_it = {**{key: count_tokens(text) for key, text in texts.items()}, **shown}
        if sum(with_it.values()) <= most or not chosen:
            chosen.append(index)
            shown = with_it
    return chosen


class Fusion(ReplyModel):
    """A reply of the role `fuse`."""

    reasoning: LongText = ""
    answer: ShortText
    used_assertions: ShownNumbers = Field(default_factory=list[int])


async def fuse(state: ReviewTreeState, runtime: Runtime[TreeOfReviewsContext]) -> Update:
    """Answer from the evidence pool in one call (section 3.3).

    The reader sees each piece's analysis, its paragraphs, or both (`fusion`), as many pieces as fit `reader_tokens`,
    each paragraph once. Without a usable reply the answer is the one that most pieces give. Writes the keys of a final
    answer.
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    pool = state["evidence"]
    texts = [_texts(piece, passages, settings) for piece in pool]
    chosen = [pool[index] for index in within(texts, settings.reader_tokens)]
    agreed = [node["id"] for node in majority_nodes(accepted_nodes(state["tree"], pool))]
    best = state["tree"][agreed[0]]["answer"] if agreed else ""
    excerpts = whole_excerpts(list(dict.fromkeys(key for piece in chosen for key in piece["passage_ids"])), passages)
    if settings.fusion == "paragraph":
        step, fallback = "answer_step_by_step", AnswerReply(answer=best)
        reading, said = await ask_reader(runtime, state, state["question"], excerpts, step=step, fallback=fallback)
        answered: CallResult[Any] = said
    else:
        variables = _variables(state, chosen, excerpts, settings)
        fused = await ask(runtime, state, ModelCall("fuse", variables, Fusion, Fusion(answer=best)))
        reading, answered = _read(fused, chosen, settings), fused
    if answered.outcome != "replied":
        reading["evidence"] = [piece for piece in pool if piece["id"] in agreed]
    event = Fused(
        mode=settings.fusion,
        pieces=[{"id": piece["id"], "passage_ids": list(piece["passage_ids"])} for piece in chosen],
        left_out=[piece["id"] for piece in pool if piece not in chosen],
        answer=reading["answer"],
    )
    emit(runtime, event)
    return answer_update(reading, answered, runtime, limit=state["stop_reason"])


def _texts(piece: Evidence, passages: Mapping[str, Passage], settings: TreeOfReviewsContext) -> dict[str, str]:
    paragraphs = {key: with_title(passages[key]) for key in piece["passage_ids"]}
    said = {f"assertion {piece['id']}": piece["statement"]}
    return {"analysis": said, "paragraph": paragraphs, "evidence": {**said, **paragraphs}}[settings.fusion]


def _variables(
    state: ReviewTreeState, chosen: Sequence[Evidence], excerpts: Sequence[Excerpt], settings: TreeOfReviewsContext
) -> dict[str, Value]:
    assertions = [piece["statement"] for piece in chosen]
    variables: dict[str, Value] = {
        "question": state["question"],
        "assertions": assertions,
        **answer_type_variable(settings),
    }
    if settings.fusion == "evidence":
        numbers = {excerpt["passage_id"]: str(number) for number, excerpt in enumerate(excerpts, start=1)}
        places = [", ".join(numbers[key] for key in piece["passage_ids"]) for piece in chosen]
        variables["assertions"] = [f"{said} [passages {at}]" for said, at in zip(assertions, places, strict=True)]
        variables["passages"] = prompt_passages(excerpts, passages_by_id(state["passages"]))
    return variables


def _read(fused: CallResult[Fusion], chosen: Sequence[Evidence], settings: TreeOfReviewsContext) -> Draft:
    reply = fused.record
    used = [chosen[number - 1] for number in dict.fromkeys(reply.used_assertions) if 1 <= number <= len(chosen)]
    answer = short_answer(reply.answer, yes_no=settings.answer_type == "yes_no")
    return Draft(reasoning=clean(reply.reasoning).strip(), answer=answer, evidence=used if answer else [])


async def accept_chain_answer(state: ReviewTreeState, runtime: Runtime[ReviewContext]) -> Update:
    """Write the answer of most accepted paths, and the first's analysis, without a call (CoR, Table 13)."""
    chosen = majority_nodes(accepted_nodes(state["tree"], state["evidence"]))
    ids = {node["id"] for node in chosen}
    evidence = [piece for piece in state["evidence"] if piece["id"] in ids]
    answer, analysis = (chosen[0]["answer"], chosen[0]["analysis"]) if chosen else ("", "")
    reading = Draft(reasoning=analysis, answer=answer, evidence=evidence)
    return reading_update(reading, runtime, limit=state["stop_reason"])


async def rank_passages(state: ReviewTreeState, runtime: Runtime[TreeOfReviewsContext]) -> Update:
    """Write `passages`: the best `recall_passages` if more were retrieved, for recall@15 (section 4.2, footnote).

    First those that support the answer, then other evidence by similarity to the final answer, then the rest
    (*ours*).
    """
    settings, passages = runtime.context, passages_by_id(state["passages"])
    if len(passages) <= settings.recall_passages:
        return {"passages": []}
    resting = {piece["id"] for piece in cited_evidence(state)}
    said = f"{state['answer']} {state['explanation']}"

    def closeness(piece: Evidence) -> tuple[bool, float]:
        text = "\n".join([piece["statement"], *(with_title(passages[key]) for key in piece["passage_ids"])])
        return piece["id"] not in resting, -lexical_similarity(said, text)

    ranked = sorted(state["evidence"], key=closeness)
    order = dict.fromkeys([*(key for piece in ranked for key in piece["passage_ids"]), *passages])
    used = {key for piece in state["evidence"] if piece["id"] in resting for key in piece["passage_ids"]}
    kept = [key for number, key in enumerate(order) if number < settings.recall_passages or key in used]
    return {"passages": Overwrite([passages[key] for key in kept])}
