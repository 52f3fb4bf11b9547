"""Write the next sentence of a chain of thought."""

import re

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import ModelCall, answer_type_variable, ask, calls_of
from hopgraph.nodes.core.reply_text import ReplyModel, ShortText, abstains, normalized_query
from hopgraph.nodes.core.step_events import emit
from hopgraph.nodes.reading import kept_passages
from hopgraph.state import Query, StopReason, Update
from hopgraph.state.baselines import IrcotContext, IrcotState
from hopgraph.state.events import ThoughtAdded
from hopgraph.tools.prompts import Value, clean
from hopgraph.tools.text import split_sentences

_ANSWER = re.compile(r"\banswer is\b\W*(?P<said>.*)", re.IGNORECASE)
"""The end of a chain of thought, as worded in the prompt."""
_CONCLUDES = re.compile(r"(?:thus|so|therefore|hence|that is|it follows)\b", re.IGNORECASE)
"""The beginning of a sentence that states no new fact to look up."""


class Thought(ReplyModel):
    """A reply of the role `next_thought`."""

    thought: ShortText


async def next_thought(state: IrcotState, runtime: Runtime[IrcotContext]) -> Update:
    """Ask for one more sentence from all passages so far, which becomes the next query (IRCoT's reasoning).

    Only a reply's first sentence counts. A conclusion ("Thus, …") is not searched for: the query is the last
    other thought, else the question, as in the authors' code. The chain ends, without a query, when the answer
    is reached (that it is not given is not an answer), at `max_thoughts` or the budget's end, or when the sentence is
    missing or repeats an earlier one. Writes `thoughts`, `queries` and the next `iteration`.
    """
    settings = runtime.context
    variables: dict[str, Value] = {
        "passages": kept_passages(state)[1],
        "thoughts": state["thoughts"],
        "question": state["question"],
        **answer_type_variable(settings),
    }
    answered = await ask(runtime, state, ModelCall("next_thought", variables, Thought, Thought(thought="")))
    said = " ".join(clean(answered.record.thought).split())
    thought = next((said[start:end] for start, end in split_sentences(said)), "")
    new = bool(normalized_query(thought)) and normalized_query(thought) not in {
        normalized_query(each) for each in state["thoughts"]
    }
    thoughts = [*state["thoughts"], thought] if new else state["thoughts"]
    concluded = _ANSWER.search(thought)
    reached = concluded is not None and not abstains(concluded["said"])
    at_limit = len(thoughts) >= settings.max_thoughts
    emit(
        runtime, ThoughtAdded(number=len(state["thoughts"]) + 1, text=thought, new=new, reached=reached, limit=at_limit)
    )
    limit: StopReason | None = "max_iterations" if at_limit and new and not reached else state["stop_reason"]
    goes_on = new and not reached and not at_limit
    last_fact = next((each for each in reversed(thoughts) if not _CONCLUDES.match(each)), "")
    return {
        "thoughts": thoughts,
        "queries": [Query(text=last_fact or state["question"], why="")] if goes_on else [],
        "iteration": state["iteration"] + 1 if goes_on else state["iteration"],
        "stop_reason": "budget" if answered.outcome == "budget" else limit,
        "calls": calls_of([answered]),
    }
