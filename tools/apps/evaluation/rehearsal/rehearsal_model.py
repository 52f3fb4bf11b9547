"""The rehearsal model: a LangChain chat model that answers from the gold annotations of a data set."""

import asyncio
import hashlib
import json
import time
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import Field, SkipValidation, ValidationError
from typing_extensions import override

from hopgraph.graphs import METHODS
from hopgraph.state import Context, SpecError
from hopgraph.state.context import RehearsalReply
from hopgraph.state.errors import did_you_mean, format_error
from hopgraph.tools.apps.evaluation.datasets import add_gold_texts, read_questions
from hopgraph.tools.apps.evaluation.rehearsal.oracle import Oracle, RehearsalOptions
from hopgraph.tools.apps.evaluation.rehearsal.question_plan import PlanBook, derive_plan
from hopgraph.tools.apps.evaluation.renaming import Renamer
from hopgraph.tools.models.players.prompt_reading import parse_request
from hopgraph.tools.models.players.step_replies import PLAYED_STEPS, make_result, reply_to_step
from hopgraph.tools.resources import find_model_spec
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus


class RehearsalModel(BaseChatModel):
    """Answers every prompt of the project like a perfect model, or one with a chosen error rate.

    This is a simulation, not a language model. It uses only those gold annotations that the prompt shows, and a share
    `knowledge` of the facts. Questions, and sub-questions that it would ask itself, are recognized by their text. The
    same prompt always gets the same reply, above temperature 0 with the same seed. Token counts are estimates.
    """

    writes_logprobs: ClassVar[bool] = True

    book: SkipValidation[PlanBook] = Field(repr=False)
    options: RehearsalOptions
    temperature: float | None = 0.0
    seed: int | None = None
    """Sampling seed, which determines where errors occur unless the temperature is 0."""

    @property
    @override
    def _llm_type(self) -> str:
        return "rehearsal"

    def reply_to(self, messages: list[BaseMessage], **sampling: Any) -> str:
        """Return the text of the reply to a prompt; `sampling` may override temperature and seed."""
        said = "".join(f"{message.type}\x1f{message.text}\x1e" for message in messages)
        seed = sampling.get("seed", self.seed)
        if seed is not None and sampling.get("temperature", self.temperature) != 0:
            said += f"{seed}\x1e"
        fingerprint = hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        case = Oracle(parse_request(messages), self.book, self.options, fingerprint)
        own = _own_reply(case.prompt.role)
        text = json.dumps(own(case), ensure_ascii=False) if own else reply_to_step(case)
        if case.chance("malformed") >= self.options.parse_failure:
            return text
        # Prose, JSON cut off in its first key, an empty reply, or JSON of the wrong type.
        cut_off = text[: min(len(text) - 1, 6)]
        malformed = ("I am sorry, but I cannot tell from what I was given.", cut_off, "", '["unusable", null]')
        return malformed[int(case.chance("kind") * len(malformed))]

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        time.sleep(self.options.latency)
        return make_result(messages, self.reply_to(messages, **kwargs), "rehearsal")

    @override
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if self.options.latency:
            await asyncio.sleep(self.options.latency)
        return make_result(messages, self.reply_to(messages, **kwargs), "rehearsal")


def _own_reply(role: str) -> RehearsalReply | None:
    """Return a custom method's reply function for one of its steps; None if it declares none."""
    method, _, step = role.rpartition("/")
    return METHODS[method].Context.rehearsal_replies.get(step) if method in METHODS else None


def find_unknown_steps(settings: Context) -> list[str]:
    """Return the roles that a rehearsal model plays without knowing their step, by just answering the question."""
    return [
        role
        for step in settings.all_steps()
        if step not in PLAYED_STEPS and step not in settings.rehearsal_replies
        if str(find_model_spec(settings, role := f"{settings.method}/{step}")).startswith("rehearsal:")
    ]


def parse_rehearsal(rest: str) -> tuple[str, RehearsalOptions]:
    """Split the text after `rehearsal:` into data set and options; SpecError: no data set, or a bad option."""
    dataset, _, query = rest.partition("?")
    if not dataset.strip():
        raise SpecError("rehearsal: lacks a data set; write rehearsal:DATASET, e.g. rehearsal:train.json?error=0.1")
    try:
        options = RehearsalOptions.model_validate(dict(parse_qsl(query, keep_blank_values=True)))
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            hint = did_you_mean(name, RehearsalOptions.model_fields)
            raise SpecError(f"rehearsal option {name!r:.60} is unknown{hint}") from None
        raise SpecError(format_error(error, f"rehearsal option {name}", got=True)) from None
    return dataset.strip(), options


def make_rehearsal(rest: str) -> RehearsalModel:
    """Return the model for the text after `rehearsal:` in its spec; SpecError or CorpusError if that fails. Blocks."""
    dataset, options = parse_rehearsal(rest)
    return RehearsalModel(book=read_book(Path(dataset).expanduser(), options.rename), options=options)


def read_book(path: Path, rename: int | None = None) -> PlanBook:
    """Read and plan the questions of a data set, renamed as by `--rename SEED`; skip bad records. Blocks."""
    reading = CorpusReading(skip_invalid=True)
    questions = add_gold_texts(path, list(read_questions(path, reading=reading)), reading)
    if rename is not None:
        renamer = Renamer(open_corpus(path, follow_links=True).records(reading), rename)
        questions = map(renamer.question, questions)
    return PlanBook(map(derive_plan, questions))
