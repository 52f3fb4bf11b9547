"""A model as judge of whether a prediction implies a gold answer: the papers' Acc with a dagger.

Each different prediction to a question is judged once, whichever methods and repeats gave it. Judgements are
appended to `judgements.jsonl` in the run's folder as they come, so that the same command resumes after a kill and
pays for nothing twice. A line without an answer names the judge of the lines after it.
"""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import BaseModel

from hopgraph.state import RunError, SpecError
from hopgraph.tools.apps.evaluation.batch.outcome import Outcome
from hopgraph.tools.apps.evaluation.batch.run_directory import RunReader
from hopgraph.tools.apps.evaluation.batch.simulated_models import SIMULATED_MODELS
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.redact import redact
from hopgraph.tools.models.model_judge import judge

JUDGEMENTS = "judgements.jsonl"
ROLE = "evaluation/judge"


class JudgeReply(BaseModel):
    """A reply of the role `evaluation/judge`."""

    implied: bool


class JudgedAnswer(NamedTuple):
    """What is judged once."""

    id: str
    """The question's."""
    prediction: str


@dataclass(frozen=True)
class Judgements:
    """The judgements of a run by one judge."""

    judge: str = ""
    """Its spec, without keys; empty when there is no judge."""
    verdicts: Mapping[JudgedAnswer, bool] = field(default_factory=dict[JudgedAnswer, bool])

    def verdict(self, outcome: Outcome, question: EvalQuestion) -> bool | None:
        """Whether an answer is right; None where it has not been judged, or the data set has no answers.

        No call is made for an empty answer: it is wrong, and right where the question has no answer. A failure is
        wrong, and so is an answer to a question that has none.
        """
        if not self.judge or question.answers is None:
            return None
        if not outcome["answer"].strip() or not question.answers:
            return not outcome["error"] and not question.answers and not outcome["answer"].strip()
        return self.verdicts.get(JudgedAnswer(outcome["id"], outcome["answer"]))


class JudgingReport(NamedTuple):
    """What judging took."""

    judged: int
    """Cases judged now."""
    known: int
    """Cases that had been judged before."""
    unusable: int
    """Cases without a usable reply; they count as wrong."""
    prompt_tokens: int
    completion_tokens: int


def read_judgements(reader: RunReader, spec: str | None = None) -> Judgements:
    """Read a judge's judgements; by default those of the last judge; empty without a file.

    Raises:
        RunError: a line that is not the last one is damaged.
    """
    by_judge: dict[str, dict[JudgedAnswer, bool]] = {}
    last = ""
    for line in _lines(reader.folder / JUDGEMENTS):
        last = str(line["judge"])
        verdicts = by_judge.setdefault(last, {})
        if "id" in line:
            verdicts[JudgedAnswer(str(line["id"]), str(line["prediction"]))] = bool(line["right"])
    chosen = last if spec is None else redact(spec)
    return Judgements(chosen, by_judge.get(chosen, {}))


def _lines(path: Path) -> Iterator[Mapping[str, object]]:
    if not path.exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return  # cut off by a kill
            try:
                yield cast("Mapping[str, object]", json.loads(line))
            except ValueError:
                raise RunError(f"{path}:{number}: not valid JSON; remove this line to judge again") from None


async def judge_run(
    reader: RunReader, spec: str, *, parallel: int = 16, progress: Callable[[int, int], None] | None = None
) -> JudgingReport:
    """Judge the answers of a run that this judge has not judged yet.

    Args:
        reader: the run; the caller holds it open for writing, or is its only user.
        spec: any model's spec.
        parallel: cases under way at once.
        progress: called after each case with (cases judged, cases to judge).

    Raises:
        SpecError: the spec cannot be resolved, or names a simulated model, which cannot judge.
        ModelError: a request failed for good; what was judged before is kept.
    """
    if spec.startswith(tuple(SIMULATED_MODELS)):
        raise SpecError(f"--judge {redact(spec)}: a simulated model cannot judge answers; name a language model")
    name, questions = redact(spec), {question.id: question for question in reader.questions()}
    known = read_judgements(reader, spec).verdicts
    every = list(dict.fromkeys(_cases(reader, questions)))
    waiting = [case for case in every if case not in known]
    path = reader.folder / JUDGEMENTS
    _cut_half_a_line(path)
    _append(path, {"judge": name})
    judging = _Judging(spec, name, questions, path, len(waiting), progress)
    jobs = iter(waiting)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(parallel, len(waiting))):
                group.create_task(judging.work(jobs))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return JudgingReport(len(waiting), len(every) - len(waiting), judging.unusable, judging.prompt, judging.completion)


def _cases(reader: RunReader, questions: Mapping[str, EvalQuestion]) -> Iterator[JudgedAnswer]:
    for method in reader.manifest.methods:
        for outcome in reader.latest(method).values():
            question = questions.get(outcome["id"])
            if question and question.answers and outcome["answer"].strip():
                yield JudgedAnswer(outcome["id"], outcome["answer"])


def _cut_half_a_line(path: Path) -> None:
    if path.exists():
        content = path.read_bytes()
        if not content.endswith(b"\n"):
            path.write_bytes(content[: content.rfind(b"\n") + 1])


def _append(path: Path, line: Mapping[str, object]) -> None:
    with path.open("ab") as file:
        file.write(f"{json.dumps(line)}\n".encode("ascii"))


@dataclass
class _Judging:
    """Judges answers one after another; several `work` coroutines may run at a time."""

    spec: str
    name: str
    questions: Mapping[str, EvalQuestion]
    path: Path
    total: int
    progress: Callable[[int, int], None] | None
    done: int = 0
    unusable: int = 0
    prompt: int = 0
    completion: int = 0

    async def work(self, waiting: Iterator[JudgedAnswer]) -> None:
        for case in waiting:
            question = self.questions[case.id]
            variables = {
                "question": question.question,
                "gold_answers": list(question.answers or ()),
                "prediction": case.prediction,
            }
            found = await judge(self.spec, ROLE, variables, JudgeReply)
            self.prompt += found.call["prompt_tokens"]
            self.completion += found.call["completion_tokens"]
            self.unusable += found.record is None
            right = found.record is not None and found.record.implied
            _append(self.path, {"judge": self.name, **case._asdict(), "right": right})
            self.done += 1
            if self.progress:
                self.progress(self.done, self.total)
