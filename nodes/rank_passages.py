"""Choose and rank the paragraphs of a large tree by the final answer."""

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from hopgraph.nodes.core.excerpts import passages_by_id, with_title
from hopgraph.nodes.finish import cited_evidence
from hopgraph.state import Evidence, Update
from hopgraph.state.tree_of_reviews import ReviewTreeState, TreeOfReviewsContext
from hopgraph.tools.text.comparison import lexical_similarity


async def rank_passages(state: ReviewTreeState, runtime: Runtime[TreeOfReviewsContext]) -> Update:
    """Write `passages`: the best `recall_passages` where more were retrieved, for recall@15 (section 4.2, footnote).

    First all that the answer rests on, then the other evidence by its similarity to the final answer, then the rest
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
