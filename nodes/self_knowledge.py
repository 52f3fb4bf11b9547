"""Self-knowledge: does the model know the answer, by its own statement or judging by similar questions?"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator, JsonValue

from hopgraph.nodes.core.ask import ModelCall, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree import BranchState, question_of, reserved_by_branch
from hopgraph.state import Context, MethodState, SettingsError, Update
from hopgraph.state.baselines import MAKE_LABELS, SkrKnnContext
from hopgraph.state.events import RetrievalDecided, SelfKnowledgeJudged
from hopgraph.tools.resources import describe_settings
from hopgraph.tools.retrieval.labeled_questions import find_nearest, read_labels

_YES = frozenset(["know", "known", "i know", "relevant", "relevance", "enough", "sufficient", "supported"])
_UNKNOWN = frozenset(["unknow", "unknown", "don't know", "i don't know"])
_NO = _UNKNOWN | {"irrelevant", "irrelevance", "not enough", "none", "unsupported", "insufficient"}


def read_verdict(value: object) -> object:
    """Interpret "Yes, …", `know`, [UNSUPPORTED] and similar words; anything else is left to be refused."""
    if not isinstance(value, str):
        return value
    said = re.split(r"[.,;:!\n\]]", value.casefold().replace("\u2019", "'").strip(" [*"), maxsplit=1)[0].strip(" *")
    if said in _YES | _NO:
        return said in _YES
    return said if said.isalpha() else value


JudgedTrue = Annotated[bool, BeforeValidator(read_verdict)]
"""True or false, also as worded by a trained module, e.g. `irrelevance`."""


class SelfKnowledge(ReplyModel):
    """A reply of the role `self_knowledge`."""

    known: JudgedTrue

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue]:
        """Parse the bare word that the paper's module writes: know, or unknow."""
        return {"known": text}


async def self_knowledge(state: BranchState, runtime: Runtime[Context]) -> Update:
    """Write `known`: whether the model can answer the branch's question without a search (RA-ISF, section 3.1)."""
    node = question_of(state)
    wanted = ModelCall("self_knowledge", {"question": node["question"]}, SelfKnowledge, SelfKnowledge(known=False))
    reserved = 1 + reserved_by_branch(node)  # an answer
    answered = await ask(runtime, state, wanted, reserve_calls=reserved)
    known = answered.record.known
    emit(runtime, SelfKnowledgeJudged(id=node["id"], question=node["question"], known=known))
    return {"known": known, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}


async def vote_of_neighbors(state: MethodState, runtime: Runtime[SkrKnnContext]) -> Update:
    """Let the k nearest labeled questions vote (SKR).

    Where retrieval helps at least as many of all labeled questions as it harms, they must say clearly that it helps;
    else, that it harms: by a majority of the margin that the authors' code has, the difference of all labels scaled
    to k. Writes `needs_retrieval`. A SettingsError names labels, or an embedding model, that cannot be used.
    """
    votes, needed = await asyncio.to_thread(_vote, state["question"], runtime.context)
    emit(runtime, RetrievalDecided(share=votes["helps"] / votes.total(), needed=needed))
    return {"needs_retrieval": needed}


def needs_retrieval(votes: Mapping[str, int], labels: Mapping[str, int]) -> bool:
    """Decide by the labels `helps` and `harms` of the k neighbors, and by all labels, `same` among them.

    Without a clear majority the side that all labels do not lean to is taken, as in the authors' code.
    """
    lead, total = labels["helps"] - labels["harms"], labels["helps"] + labels["harms"] + labels["same"]
    margin = abs(lead) * sum(votes.values()) // total
    ahead = votes["helps"] - votes["harms"]
    return ahead > 0 and ahead >= margin if lead >= 0 else not (ahead < 0 and -ahead >= margin)


def _vote(question: str, settings: SkrKnnContext) -> tuple[Counter[str], bool]:
    """Count the neighbors' labels, and decide."""
    from hopgraph.tools.retrieval.index_manifest import corpus_fingerprint  # here in the thread, as it brings NumPy

    if settings.labels is None:
        raise SettingsError(settings.missing)
    labeled = read_labels(settings.labels)
    corpus = corpus_fingerprint(settings.retriever) if isinstance(settings.retriever, str) else ""
    for name, here in (("model", describe_settings(settings)[0]), ("corpus", corpus)):
        if here and (others := {getattr(each, name) for each in labeled} - {"", here}):
            made = f"made with the {name} {min(others)}, and this run has {here}"
            raise SettingsError(f"labels {settings.labels}: {made}; {MAKE_LABELS}")
    deciding = [each for each in labeled if each.label != "same"]
    near = find_nearest(question, deciding, settings.neighbors, settings.embedding)
    votes = Counter[str](each.label for each in near)
    return votes, needs_retrieval(votes, Counter(each.label for each in labeled))
