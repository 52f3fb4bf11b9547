"""One system that answers questions over HTTP, in a process of its own, so that its memory and processor are its own.

    python throughput_client.py SYSTEM URL DATASET PARALLEL QUESTIONS LOOP

SYSTEM is `chat_openai` (bare calls), `langgraph` (a graph of three nodes of one call each), `dspy` (three hops and an
answer) or a method's name. Prints a line of JSON: seconds of processor and kilobytes of resident memory at the end.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Answer = Callable[[str], Awaitable[Any]]
PROMPT = "Answer the question in a few words.\n\nQuestion: {question}\n\n" + "Passage: a line of text.\n" * 60
"""As long as a prompt with some passages, about 400 tokens."""


def plain_model(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="memo", base_url=f"{url}/v1", api_key="none", temperature=0, max_retries=0)  # type: ignore[arg-type]


def chat_openai(url: str, _dataset: Path) -> Answer:
    model = plain_model(url)
    return lambda question: model.ainvoke(PROMPT.format(question=question))


def langgraph(url: str, _dataset: Path) -> Answer:
    from langgraph.graph import START, StateGraph
    from typing_extensions import TypedDict

    class State(TypedDict):
        question: str
        answer: str

    model = plain_model(url)

    async def step(state: State) -> dict[str, str]:
        return {"answer": (await model.ainvoke(PROMPT.format(question=state["question"]))).text}

    builder = StateGraph(State)
    for name, before in (("first", START), ("second", "first"), ("third", "second")):
        builder.add_node(name, step)
        builder.add_edge(before, name)
    graph = builder.compile()
    return lambda question: graph.ainvoke({"question": question, "answer": ""})


def dspy(url: str, _dataset: Path) -> Answer:
    import dspy as library  # type: ignore[import-not-found]

    library.configure(
        lm=library.LM("openai/memo", api_base=f"{url}/v1", api_key="none", cache=False, temperature=0),
        adapter=library.JSONAdapter(),
    )
    hop = library.Predict("question, passages -> reasoning, answer")  # the fields of the server's reply

    async def answer(question: str) -> None:
        passages = "Passage: a line of text.\n" * 60
        for _ in range(4):
            await hop.acall(question=question, passages=passages)

    return answer


def method(name: str, url: str, dataset: Path) -> Answer:
    from hopgraph.graphs import METHODS

    module: Any = METHODS[name]
    settings = module.Context(
        model=f"openai:memo?base_url={url}/v1", retriever=f"bm25:{dataset}", max_parallel_calls=64
    )
    return lambda question: module.graph.ainvoke({"question": question}, context=settings)


SYSTEMS = {"chat_openai": chat_openai, "langgraph": langgraph, "dspy": dspy}


async def answer_all(answer: Answer, questions: list[str], parallel: int) -> None:
    waiting = iter(questions)

    async def work() -> None:
        for question in waiting:
            await answer(question)

    async with asyncio.TaskGroup() as group:
        for _ in range(parallel):
            group.create_task(work())


def most_resident() -> int:
    """Return the most kilobytes that were resident; `ru_maxrss` would count those of the process that started this."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


def main() -> None:
    system, url, dataset, index, parallel, count = sys.argv[1:]
    with Path(dataset).open(encoding="utf-8") as file:
        questions = [json.loads(line)["question"] for line in file]
    make = SYSTEMS.get(system) or (lambda url, index: method(system, url, index))
    answer = make(url, Path(index))

    async def run() -> float:
        await answer_all(answer, questions[: int(parallel)], int(parallel))  # imports and connections
        sys.stdout.write("warm\n")
        sys.stdout.flush()
        sys.stdin.readline()
        before = sum(os.times()[:2])
        await answer_all(answer, [questions[number % len(questions)] for number in range(int(count))], int(parallel))
        return sum(os.times()[:2]) - before

    spent = asyncio.run(run())
    sys.stdout.write(json.dumps({"processor": spent, "resident": most_resident()}) + "\n")


if __name__ == "__main__":
    main()
