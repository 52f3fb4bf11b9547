"""What a run will cost, before its first call: the first questions are answered by a stand-in and counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from hopgraph.state import Context, SettingsError, StepEvent
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, answer_question
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.apps.evaluation.prices import PriceTable
from hopgraph.tools.models import model_name
from hopgraph.tools.resources import find_model_spec

TRIED_QUESTIONS = 10
"""Questions that are tried. Of 100 of HotpotQA's, the first 3 told half of the calls that MIGRES then took, the first
10 told 87 %."""


class MethodEstimate(NamedTuple):
    """What one method will take."""

    method: str
    questions: int
    """Questions times repeats that are still to be asked."""
    tried: int
    """Questions that the stand-in answered; with 0 the figures below are 0 and mean nothing."""
    calls: float
    """Model calls per question."""
    prompt_tokens: float
    """Per question."""
    completion_tokens: float
    cost: float | None
    """Of all questions, in the currency of the price table; None where a model has no price."""

    @property
    def all_calls(self) -> float:
        """Model calls of all questions."""
        return self.calls * self.questions


@dataclass(frozen=True)
class RunEstimate:
    """What a run will take, as far as a stand-in can tell."""

    stand_in: str
    """The spec of the model that answered."""
    methods: list[MethodEstimate]
    left_out: tuple[str, ...] = ()
    """What is not counted: models that rerank or judge entailment."""

    @property
    def cost(self) -> float | None:
        """Of all methods; None where one of them has no price."""
        costs = [each.cost for each in self.methods]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def label(self) -> str:
        """Say what the figures rest on."""
        tried = max((each.tried for each in self.methods), default=0)
        plural = "question" if tried == 1 else "questions"
        text = (
            f"An estimate from the first {tried} {plural}, answered by {self.stand_in}, with four characters to a "
            "token; a language model takes more or fewer turns, and may reason at length"
        )
        return f"{text}. Not counted: {', '.join(self.left_out)}" if self.left_out else text


def choose_stand_in(dataset: Path, questions: Sequence[EvalQuestion], *, rename: int | None) -> str:
    """Choose who answers: the rehearsal model where the data set tells how its questions are answered, else offline.

    The rehearsal model finds questions by their text, and so has to be told how they were renamed.
    """
    told = all(each.answers and (each.gold or each.hops) for each in questions)
    options = "" if rename is None else f"?rename={rename}"
    return f"rehearsal:{dataset}{options}" if told else DEFAULT_MODEL


async def estimate_run(
    methods: Mapping[str, Context],
    questions: Sequence[EvalQuestion],
    left: Mapping[str, int],
    *,
    stand_in: str,
    prices: PriceTable,
    first: int = TRIED_QUESTIONS,
) -> RunEstimate:
    """Answer the first questions by every method, in process, and count.

    Args:
        methods: settings by method, with their retriever.
        questions: of the sample.
        left: method → questions times repeats that are still to be asked; 0 where it is left out.
        stand_in: the model's spec, as `stand_in_for` chooses it.
        prices: of the models that the settings name.
        first: how many questions are tried.

    Raises:
        SettingsError: fewer than one question to try.
        HopgraphError: settings, prompts or a corpus that no question can be answered with.
    """
    if first < 1:
        raise SettingsError(f"an estimate needs at least 1 question to try, not {first}")
    tried = [
        await _estimate(settings, questions[:first], left.get(name, 0), stand_in, prices)
        for name, settings in methods.items()
    ]
    apart = {str(each) for settings in methods.values() for each in (settings.reranker, settings.entailment)}
    return RunEstimate(stand_in, tried, tuple(sorted(each for each in apart if _is_model(each))))


@dataclass
class _Count:
    """Counts the calls of one method."""

    settings: Context
    """As the run will have them."""
    calls: int = 0
    prompt: int = 0
    completion: int = 0
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Model that the run will ask → (prompt, completion) tokens."""

    def see(self, event: StepEvent) -> None:
        if event["event"] != "asked":
            return
        data = event["data"]
        prompt, completion = int(str(data["prompt_tokens"])), int(str(data["completion_tokens"]))
        model = model_name(find_model_spec(self.settings, str(data["role"])))
        before = self.tokens.get(model, (0, 0))
        self.tokens[model] = (before[0] + prompt, before[1] + completion)
        self.calls += int(str(data["attempts"]))
        self.prompt += prompt
        self.completion += completion


async def _estimate(
    settings: Context, questions: Sequence[EvalQuestion], left: int, stand_in: str, prices: PriceTable
) -> MethodEstimate:
    replaced = _without_models(settings, stand_in)
    total, tried = _Count(settings), 0
    for question in questions:
        one = _Count(settings)
        outcome, _ = await answer_question(QuestionJob(question, replaced, keep_trace=False), one.see)
        if outcome["error"]:
            continue  # counted as far as it came, it would make the method look cheap
        tried += 1
        total.calls += one.calls
        total.prompt += one.prompt
        total.completion += one.completion
        for model, (prompt, completion) in one.tokens.items():
            before = total.tokens.get(model, (0, 0))
            total.tokens[model] = (before[0] + prompt, before[1] + completion)
    share = 1 / tried if tried else 0.0
    known = tried > 0 and all(prices.knows(model) for model in total.tokens)
    cost = sum(prices.price(model, *tokens) for model, tokens in total.tokens.items()) * share * left
    return MethodEstimate(
        settings.method,
        left,
        tried,
        total.calls * share,
        total.prompt * share,
        total.completion * share,
        cost if known else None,
    )


def _without_models(settings: Context, stand_in: str) -> Context:
    """Let the stand-in play every role, and rules rerank and check: nothing may be paid for."""
    free = {name: "lexical" for name in ("reranker", "entailment") if _is_model(str(getattr(settings, name)))}
    return settings.model_copy(update={"model": stand_in, "models": {}, "cache_dir": None, **free})


def _is_model(spec: str) -> bool:
    return spec.startswith("model:")
