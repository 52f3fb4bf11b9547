"""A model as judge of whether a prediction implies a gold answer: the papers' Acc with a dagger.

Each different prediction to a question is judged once, whichever methods and repeats gave it. Judgements are
appended to `judgements.jsonl` in the run's folder as they come, so that the same command resumes after a kill and
pays for nothing twice. A line without an answer names the judge of the lines after it.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from pydantic import BaseModel, TypeAdapter

from hopgraph.state import SpecError
from hopgraph.tools.apps.evaluation.batch.run_directory import (
    SIMULATED_MODELS,
    Outcome,
    RunReader,
    append_json_line,
    read_json_lines,
    truncate_partial_line,
)
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.background import gather_or_cancel
from hopgraph.tools.io.redact import redact
from hopgraph.tools.prompts import read_prompt
from hopgraph.tools.scoring.by_model import judge

JUDGEMENTS = "judgements.jsonl"
_ROLE = "evaluation/judge"


class JudgeReply(BaseModel):
    """A reply of the role `evaluation/judge`."""

    implied: bool


class _Line(NamedTuple):
    judge: str
    id: str = ""
    prediction: str = ""
    right: bool | None = None
    prompt: str = ""
    """The hash of what the judge was asked; another prompt's verdicts are another judge's."""


_LINE = TypeAdapter(_Line)


@dataclass(frozen=True)
class Judgements:
    """The judgements of a run by one judge."""

    judge: str = ""
    """Its spec, without keys; empty when there is no judge."""
    verdicts: Mapping[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    """(id of a question, prediction) → whether it is right."""

    def verdict(self, outcome: Outcome, question: EvalQuestion) -> bool | None:
        """Whether an answer is right; None where it has not been judged, or the data set has no answers.

        No call is made for an empty answer: it is wrong, and right where the question has no answer. A failure is
        wrong, and so is an answer to a question that has none.
        """
        if not self.judge or question.answers is None:
            return None
        blank = not outcome["answer"].strip()
        if blank or not question.answers:
            return blank and not question.answers and not outcome["error"]
        return self.verdicts.get((outcome["id"], outcome["answer"]))


def read_judgements(reader: RunReader, spec: str | None = None) -> Judgements:
    """Read a judge's judgements, by default those of the last judge; empty without a file."""
    lines = [*read_json_lines(reader.folder, JUDGEMENTS, _LINE)]
    last = lines[-1] if lines else _Line("")
    named, prompt = (last.judge, last.prompt) if spec is None else (redact(spec), _prompt_hash())
    own = (each for each in lines if (each.judge, each.prompt) == (named, prompt))
    return Judgements(named, {(each.id, each.prediction): each.right for each in own if each.right is not None})


def _prompt_hash() -> str:
    return hashlib.sha256(read_prompt(_ROLE).instructions.encode()).hexdigest()[:12]


async def judge_run(
    reader: RunReader, spec: str, *, parallel: int = 16, progress: Callable[[int, int], None] | None = None
) -> None:
    """Judge the answers of a run that this judge has not judged yet; one without a usable reply counts as wrong.

    The caller holds the run open for writing, or is its only user. `parallel` answers are under way at once; `progress`
    is called after each with (answers judged, answers to judge).

    SpecError: the spec cannot be resolved, or names a simulated model, which cannot judge.
    ModelError: a request failed for good; what was judged before is kept.
    """
    if spec.startswith(SIMULATED_MODELS):
        raise SpecError(f"--judge {redact(spec)}: a simulated model cannot judge answers; name a language model")
    questions = {question.id: question for question in reader.questions()}
    known = read_judgements(reader, spec).verdicts
    cases = dict.fromkeys(
        (outcome["id"], outcome["answer"])
        for method in reader.manifest.methods
        for outcome in reader.latest(method).values()
        if outcome["answer"].strip() and outcome["id"] in questions and questions[outcome["id"]].answers
    )
    waiting = [case for case in cases if case not in known]
    folder = reader.folder
    truncate_partial_line(folder, JUDGEMENTS)
    asked = {"judge": redact(spec), "prompt": _prompt_hash()}
    append_json_line(folder, JUDGEMENTS, asked)
    jobs, done = iter(waiting), count(1)

    async def work() -> None:
        for name, prediction in jobs:
            question = questions[name]
            gold = list(question.answers or ())
            variables = {"question": question.question, "gold_answers": gold, "prediction": prediction}
            reply, _ = await judge(spec, _ROLE, variables, JudgeReply)
            right = reply is not None and reply.implied
            append_json_line(folder, JUDGEMENTS, {**asked, "id": name, "prediction": prediction, "right": right})
            if progress:
                progress(next(done), len(waiting))

    await gather_or_cancel(work() for _ in range(min(parallel, len(waiting))))
