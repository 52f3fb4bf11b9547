"""Ask whether the model knows the answer itself."""

import re
from typing import Annotated

from langgraph.runtime import Runtime
from pydantic import BeforeValidator, JsonValue

from hopgraph.nodes.core.ask import Ask, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.question_tree.branch import BranchState, question_of, reserved_by_branch, spent_in
from hopgraph.state import Context, Update
from hopgraph.state.events import SelfKnowledgeJudged

_YES = frozenset(["know", "known", "i know", "relevant", "relevance", "enough", "sufficient", "supported"])
_UNKNOWN = frozenset(["unknow", "unknown", "don't know", "i don't know"])
_NO = _UNKNOWN | {"irrelevant", "irrelevance", "not enough", "none", "unsupported", "insufficient"}


def read_verdict(value: object) -> object:
    """Take "Yes, …", `know`, [UNSUPPORTED] and the like for what they mean; anything else is left to be refused."""
    if not isinstance(value, str):
        return value
    said = re.split(r"[.,;:!\n\]]", value.casefold().replace("\u2019", "'").strip(" [*"), maxsplit=1)[0].strip(" *")
    if said in _YES | _NO:
        return said in _YES
    return said if said.isalpha() else value


JudgedTrue = Annotated[bool, BeforeValidator(read_verdict)]
"""True or false, also in the words of a trained module, as `irrelevance`."""


class SelfKnowledge(ReplyModel):
    """A reply of the role `self_knowledge`."""

    known: JudgedTrue

    @classmethod
    def read_paper_form(cls, text: str) -> dict[str, JsonValue]:
        """Read the bare word that the paper's module writes: know, or unknow."""
        return {"known": text}


async def self_knowledge(state: BranchState, runtime: Runtime[Context]) -> Update:
    """Write `known`: whether the model can answer the branch's question without a search (RA-ISF, section 3.1)."""
    node = question_of(state)
    wanted = Ask("self_knowledge", {"question": node["question"]}, SelfKnowledge, SelfKnowledge(known=False))
    reserved = 1 + reserved_by_branch(node)  # an answer
    answered = await ask(runtime, spent_in(state), wanted, reserve_calls=reserved)
    known = answered.record.known
    emit(runtime, SelfKnowledgeJudged(id=node["id"], question=node["question"], known=known))
    return {"known": known, "cut_off": answered.outcome == "budget", "calls": calls_of([answered])}
