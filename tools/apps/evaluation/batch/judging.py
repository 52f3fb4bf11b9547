"""LLM as a judge: a model judges whether predictions imply a gold answer, the papers' Acc†; and an audit of the judge.

Each distinct prediction for a question is judged once, for all methods and repeats. Judgements are appended to
`judgements.jsonl` as they arrive, so that resuming does not pay twice. A line without a prediction names the judge of
the following lines; the last judge's verdicts count, and are compared with the previous judge's. Lines with `gold`
belong to an audit, in which the judge was shown another question's answers as gold.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import fmean
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
from hopgraph.tools.apps.evaluation.metrics import F1
from hopgraph.tools.io.background import gather_or_cancel
from hopgraph.tools.io.redact import redact
from hopgraph.tools.prompts import read_prompt
from hopgraph.tools.scoring.by_model import judge

JUDGEMENTS = "judgements.jsonl"
AUDITED_QUESTIONS = 50
"""Questions of an audit, with two judgements each; with 50, the standard error of a share is at most 7 points."""
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
    """The hash of the judge's prompt; another prompt's verdicts count as another judge's."""
    gold: tuple[str, ...] = ()
    """The answers shown as gold, if they are another question's."""


_LINE = TypeAdapter(_Line)


class _Case(NamedTuple):
    """A question, its gold answers and the answer to judge."""

    id: str
    prediction: str
    gold: tuple[str, ...] = ()
    """Empty for the question's own answers."""


class JudgeAgreement(NamedTuple):
    """The agreement of two judges on the answers that both have judged."""

    judge: str
    """The second judge."""
    n: int
    agreed: float
    """Share of the answers on which they agree."""
    kappa: float | None
    """Cohen's kappa (1960); None if undefined, because both judges always give the same one verdict."""


class JudgeAudit(NamedTuple):
    """A judge's verdicts with swapped gold answers, which show whether it compares texts or uses its own knowledge."""

    n: int
    """Questions, each judged twice."""
    own_accepted: float
    """Share of questions whose true answer, wrong by the swapped gold, was accepted: the judge used its knowledge."""
    swapped_refused: float
    """Share of questions whose swapped gold answer was refused as a prediction: likewise."""


@dataclass(frozen=True)
class Judgements:
    """The judgements of a run by one judge."""

    judge: str = ""
    """Its spec, without keys; empty without a judge."""
    verdicts: Mapping[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    """(question id, prediction) → whether it is correct."""
    second: str = ""
    """The previous judge; empty if there was none."""
    second_verdicts: Mapping[tuple[str, str], bool] = field(default_factory=dict[tuple[str, str], bool])
    audit: JudgeAudit | None = None

    def verdict(self, outcome: Outcome, question: EvalQuestion) -> bool | None:
        """Return whether an answer is correct; None if it has not been judged, or the data set has no answers.

        If the prediction or the gold answers are empty, no call is made: only an abstention on an unanswerable question
        is correct.
        """
        if not self.judge or question.answers is None:
            return None
        blank = not outcome["answer"].strip()
        if blank or not question.answers:
            return blank and not question.answers and not outcome["error"]
        return self.verdicts.get((outcome["id"], outcome["answer"]))

    def agreement(self, outcomes: Iterable[Outcome]) -> JudgeAgreement | None:
        """Return the agreement of the two judges; None if they have judged no answers in common."""
        keys = {(each["id"], each["answer"]) for each in outcomes} & self.verdicts.keys() & self.second_verdicts.keys()
        if not keys:
            return None
        agreed = fmean(self.verdicts[key] == self.second_verdicts[key] for key in keys)
        one, other = (fmean(each[key] for key in keys) for each in (self.verdicts, self.second_verdicts))
        chance = one * other + (1 - one) * (1 - other)
        kappa = (agreed - chance) / (1 - chance) if chance < 1 else None
        return JudgeAgreement(self.second, len(keys), agreed, kappa)


def read_judgements(reader: RunReader) -> Judgements:
    """Return the verdicts of a run's last judge and of the previous one; empty without judgements."""
    judges = [*_lines_by_judge(reader).items()]
    if not judges:
        return Judgements()
    (judge, _), lines = judges[-1]
    (second, _), others = judges[-2] if len(judges) > 1 else (("", ""), ())
    return Judgements(judge, _verdicts(lines), second, _verdicts(others), _audit(lines))


def _audit(lines: Iterable[_Line]) -> JudgeAudit | None:
    audited = [each for each in lines if each.gold and each.right is not None]
    own, swapped = (
        [each.right for each in audited if (each.prediction in each.gold) == same] for same in (False, True)
    )
    if not own or not swapped:
        return None
    return JudgeAudit(len(own), fmean(map(bool, own)), fmean(not right for right in swapped))


def _lines_by_judge(reader: RunReader) -> dict[tuple[str, str], list[_Line]]:
    """Return (judge, prompt) → lines, with the most recent judge last."""
    found: dict[tuple[str, str], list[_Line]] = {}
    for line in (each for folder in reader.folders for each in read_json_lines(folder, JUDGEMENTS, _LINE)):
        key = line.judge, line.prompt
        found[key] = found.pop(key, [])
        found[key].append(line)
    return found


def _verdicts(lines: Iterable[_Line]) -> dict[tuple[str, str], bool]:
    return {(each.id, each.prediction): each.right for each in lines if each.right is not None and not each.gold}


async def judge_run(
    reader: RunReader,
    spec: str,
    *,
    second: str | None = None,
    audit: bool = False,
    parallel: int = 16,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Judge the answers of a run that this judge has not judged yet; an unusable reply counts as a wrong answer.

    A `second` judge judges the same answers. An `audit` also shows the first judge some questions with swapped gold
    answers. No other process may write to the run. `progress` is called after each with (judged, total). SpecError: a
    spec cannot be resolved, or names a simulated model. ModelError: a request failed permanently; earlier judgements
    are kept.
    """
    judges = [*([second] if second else []), spec]  # the last one's verdicts count
    for each in judges:
        if each.startswith(SIMULATED_MODELS):
            raise SpecError(f"--judge {redact(each)}: a simulated model cannot judge answers; name a language model")
    if second and redact(second) == redact(spec):
        raise SpecError(f"--second-judge {redact(second)}: this is the judge itself; name another model")
    questions = {question.id: question for question in reader.questions()}
    known = _lines_by_judge(reader)
    prompt = hashlib.sha256(read_prompt(_ROLE).instructions.encode()).hexdigest()[:12]
    waiting = dict[str, list[_Case]]()
    for each in judges:
        lines = known.get((redact(each), prompt), ())
        done = {_Case(line.id, line.prediction, line.gold) for line in lines if line.right is not None}
        cases = [*_answers(reader, questions), *(_swapped([*questions.values()]) if audit and each == spec else ())]
        waiting[each] = [case for case in dict.fromkeys(cases) if case not in done]
    truncate_partial_line(reader.folder, JUDGEMENTS)
    total, finished = sum(map(len, waiting.values())), count(1)

    async def work(asked: str, jobs: Iterator[_Case]) -> None:
        for case in jobs:
            question, said = questions[case.id], {"prediction": case.prediction}
            shown = {"question": question.question, "gold_answers": [*(case.gold or question.answers or ())], **said}
            reply, _ = await judge(asked, _ROLE, shown, JudgeReply)
            line = {"judge": redact(asked), "prompt": prompt, "id": case.id, **said}
            swapped = {"gold": case.gold} if case.gold else {}
            right = reply is not None and reply.implied
            append_json_line(reader.folder, JUDGEMENTS, {**line, **swapped, "right": right})
            if progress:
                progress(next(finished), total)

    for each, cases in waiting.items():
        append_json_line(reader.folder, JUDGEMENTS, {"judge": redact(each), "prompt": prompt})
        jobs = iter(cases)
        await gather_or_cancel(work(each, jobs) for _ in range(min(parallel, len(cases))))


def _answers(reader: RunReader, questions: Mapping[str, EvalQuestion]) -> Iterator[_Case]:
    """Yield the answers that need a model call to be judged."""
    for method in reader.manifest.methods:
        for outcome in reader.latest(method).values():
            if outcome["answer"].strip() and outcome["id"] in questions and questions[outcome["id"]].answers:
                yield _Case(outcome["id"], outcome["answer"])


def _swapped(questions: Sequence[EvalQuestion]) -> Iterator[_Case]:
    """Yield two cases for each of the first questions: its own answer and another's, both with the other's as gold.

    The other question is the next one, preferably of the same type, whose answers share no word with its own.
    """
    known = [each for each in questions if each.answers]
    audited = 0
    for place, question in enumerate(known):
        others = sorted(known[place + 1 :] + known[:place], key=lambda each: each.type != question.type)
        other = next((each for each in others if _differ(question.answers, each.answers)), None)
        if other and question.answers and other.answers:
            yield _Case(question.id, question.answers[0], other.answers)
            yield _Case(question.id, other.answers[0], other.answers)
            audited += 1
        if audited == AUDITED_QUESTIONS:
            return


def _differ(answers: tuple[str, ...] | None, others: tuple[str, ...] | None) -> bool:
    return not any(F1(answer, [other]) for answer in answers or () for other in others or ())
