"""Break a question down by the data set's annotation or by a teacher, and check the sub-questions."""

from langgraph.runtime import Runtime

from hopgraph.nodes.core.ask import AskResult, ask, calls_of
from hopgraph.nodes.distillation.record import UNANSWERED, drop, drop_flawed, make_example
from hopgraph.nodes.question_tree import decomposition
from hopgraph.state import Update, empty_call
from hopgraph.state.distillation import DecompositionDataContext, DistillationState, Example


async def list_parts(state: DistillationState, runtime: Runtime[DecompositionDataContext]) -> Update:
    """Write to `distilled` the sub-questions, cleaned: the annotated ones, else the teacher's (RA-ISF, A.3)."""
    settings, source, question = runtime.context, state["source"], state["question"]
    most, in_order = settings.max_sub_questions, settings.part_order == "in_order"
    wanted = decomposition.decomposition_ask(question, most=most, in_order=in_order)
    by_gold = settings.teacher == "gold"
    given = decomposition.SubQuestions(sub_questions=source["sub_questions"])
    annotated = AskResult(given, "replied", "", empty_call("model", settings.role))
    answered = annotated if by_gold else await ask(runtime, state, wanted)
    calls = {} if by_gold else calls_of([answered])
    if answered.outcome != "replied" or len(answered.record.sub_questions) > most:
        reason = UNANSWERED[answered.outcome] or "too many sub-questions"
        return {"distilled": [drop(source["id"], reason)], "calls": calls}
    parts = decomposition.read_sub_questions(answered, most=most, known=[question])
    reply = decomposition.SubQuestions(sub_questions=parts)
    return {"distilled": [make_example(source["id"], wanted.variables, reply)], "calls": calls}


async def check_parts(state: DistillationState, runtime: Runtime[DecompositionDataContext]) -> Update:
    """Drop from `distilled` what has no parts, or a part that refers to an answer not there before it (*ours*)."""
    in_order = runtime.context.part_order == "in_order"

    def flaw_of(example: Example) -> str:
        parts = decomposition.SubQuestions.model_validate(example["reply"]).sub_questions
        named = [decomposition.referred_numbers(text, before=100, whole=state["question"]) for text in parts]
        placed = all(number < at and in_order for at, numbers in enumerate(named, start=1) for number in numbers)
        return "no sub-questions" if not parts else "" if placed else "misplaced reference"

    return {"distilled": drop_flawed(state, flaw_of)}
