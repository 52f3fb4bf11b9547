"""The cost of model calls, and an estimate of a run's cost before it starts.

Users provide the price table. For an estimate, a simulated model answers the first questions, and we count its calls.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, TypeAdapter

from hopgraph.state import Context, SettingsError, StepEvent
from hopgraph.state.context import DEFAULT_MODEL
from hopgraph.state.errors import format_error
from hopgraph.state.events import Asked, parse_event
from hopgraph.tools.apps.evaluation.batch.question_job import QuestionJob, answer_question
from hopgraph.tools.apps.evaluation.batch.run_directory import shown_model
from hopgraph.tools.apps.evaluation.eval_questions import EvalQuestion
from hopgraph.tools.io.guarded_files import read_source
from hopgraph.tools.models import model_name
from hopgraph.tools.resources import find_model_spec
from hopgraph.tools.text.sanitize import pluralize

TRIED_QUESTIONS = 10
"""Questions answered for an estimate. Of 100 HotpotQA questions, the first 3 predicted half of MIGRES's calls, the
first 10 87 %."""
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(BaseModel, frozen=True, extra="forbid"):
    """The price of a model per million tokens."""

    prompt: _Amount
    completion: _Amount


_TABLE = TypeAdapter(dict[str, ModelPrice])


class PriceTable(dict[str, ModelPrice]):
    """Prices by a prefix of the model's spec or name."""

    def price(self, model: str, prompt_tokens: float, completion_tokens: float) -> float:
        """Return the cost of a call, by the longest matching prefix; 0 if there is none."""
        if not self.knows(model):
            return 0.0
        chosen = self[max(filter(model.startswith, self), key=len)]
        return (prompt_tokens * chosen.prompt + completion_tokens * chosen.completion) / 1_000_000

    def knows(self, model: str) -> bool:
        """Return whether a model has a price."""
        return model.startswith(tuple(self))


def read_prices(path: Path | None) -> PriceTable:
    """Read a price table in TOML, e.g. `["openai:gpt-4.1-mini"]` with `prompt = 0.40` and `completion = 1.60`.

    Without a path it is empty: there are no built-in prices, as they change. SettingsError: it cannot be read, or an
    entry is not a price.
    """
    if path is None:
        return PriceTable()
    try:
        return PriceTable(_TABLE.validate_python(tomllib.loads(read_source(path.expanduser(), pipe=True).decode())))
    except (OSError, ValueError) as error:
        raise SettingsError(f"prices {path}: cannot be read: {format_error(error)}") from None


class MethodEstimate(NamedTuple):
    """The estimate for one method; calls and tokens are means per question."""

    method: str
    questions: int
    """Questions times repeats still to be asked."""
    tried: int
    """Questions that the simulated model answered; if 0, the figures below are meaningless."""
    calls: float
    prompt_tokens: float
    completion_tokens: float
    cost: float | None
    """Cost of all questions, in the currency of the price table; None if a model has no price."""
    run: str = ""
    """Name of the run in a study."""


@dataclass(frozen=True)
class RunEstimate:
    """The estimate for a run, by a simulated model."""

    stand_in: str
    methods: list[MethodEstimate]
    left_out: tuple[str, ...] = ()
    """Models not included: rerankers and entailment checkers."""

    @property
    def cost(self) -> float | None:
        """Return the cost of all methods; None if one of them has no price."""
        costs = [each.cost for each in self.methods if each.cost is not None]
        return sum(costs) if len(costs) == len(self.methods) else None

    @property
    def label(self) -> str:
        """Return a sentence that explains the basis of the figures."""
        tried = pluralize(max((each.tried for each in self.methods), default=0), "question")
        not_counted = f". Not counted: {', '.join(self.left_out)}" if self.left_out else ""
        return (
            f"An estimate from the first {tried}, answered by {self.stand_in}, at four characters per token; "
            f"a language model may take more or fewer steps, and may reason at length{not_counted}"
        )


def choose_stand_in(dataset: Path, questions: Sequence[EvalQuestion], *, rename: int | None) -> str:
    """Return the simulated model: rehearsal if the data set has gold answers and passages or steps, else offline."""
    annotated = all(each.answers and (each.gold or each.hops) for each in questions)
    options = "" if rename is None else f"?rename={rename}"
    return f"rehearsal:{dataset}{options}" if annotated else DEFAULT_MODEL


async def estimate_run(
    methods: Mapping[str, Context],
    questions: Sequence[EvalQuestion],
    left: Mapping[str, int],
    *,
    stand_in: str,
    prices: PriceTable,
    cache_dir: str | None = None,
) -> RunEstimate:
    """Answer the first questions with every method, in process, and count; HopgraphError if none can be answered.

    `left` maps a method to the questions times repeats still to be asked. Calls are priced as those of the models in
    the settings. Replies cached by an earlier estimate cost nothing, as in the runs.
    """

    async def estimate(settings: Context) -> MethodEstimate:
        # Lexical reranking and entailment, which are free.
        free = {name: "lexical" for name in ("reranker", "entailment") if _is_model(str(getattr(settings, name)))}
        replaced = settings.model_copy(update={"model": stand_in, "models": {}, "cache_dir": cache_dir, **free})
        calls, tried = list[Asked](), 0
        for question in questions[:TRIED_QUESTIONS] if settings.steps else ():  # a custom graph could make paid calls
            events: list[StepEvent] = []
            if (await answer_question(QuestionJob(question, replaced, keep_trace=False), events.append)).failure:
                continue  # a partial run would make the method look cheap
            tried += 1
            calls += [event for event in map(parse_event, events) if isinstance(event, Asked)]
        paid = [paid_part(call) for call in calls]
        counts = [sum(part) / max(tried, 1) for part in zip(*paid, strict=True)] or [0.0] * 3
        # Priced as calls of the run's models.
        models = [model_name(find_model_spec(settings, call.role)) for call in calls]
        spent = sum(prices.price(model, *tokens) for model, (_, *tokens) in zip(models, paid, strict=True))
        asked, known = left.get(settings.method, 0), tried > 0 and all(map(prices.knows, models))
        cost = spent / tried * asked if known else None
        return MethodEstimate(settings.method, asked, tried, counts[0], counts[1], counts[2], cost)

    apart = {str(each) for settings in methods.values() for each in (settings.reranker, settings.entailment)}
    own = (f"what {name} asks by itself" for name, settings in methods.items() if not settings.steps)
    tried = [await estimate(settings) for settings in methods.values()]
    return RunEstimate(shown_model(stand_in), tried, (*own, *sorted(filter(_is_model, apart))))


def paid_part(call: Asked) -> tuple[int, int, int]:
    """Return the paid (attempts, prompt tokens, completion tokens) of a call, without cached replies."""
    paid = call.attempts - call.cached
    share = paid / max(call.attempts, 1)
    return paid, round(share * call.prompt_tokens), round(share * call.completion_tokens)


def _is_model(spec: str) -> bool:
    return spec.startswith("model:")
