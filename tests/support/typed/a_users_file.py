"""A user's file checked by pyright in strict mode, which reports exactly the lines marked `error`."""

from hopgraph.graphs import chat, genground, migres
from hopgraph.graphs.baselines import gold_passages
from hopgraph.state import AnswerOutput


def use(*values: object) -> None:
    """Accept a result."""


def well_typed() -> AnswerOutput:
    """Call a method with valid arguments."""
    result: AnswerOutput = migres.graph.invoke({"question": "Who?"})
    limited = migres.graph.invoke({"question": "Who?"}, context=migres.Context(max_iterations=2))
    shown: str = limited["answer"] + limited["citations"][0]["title"]
    by_dict = migres.graph.invoke({"question": shown}, {"recursion_limit": 30}, context={"max_iterations": 2})
    resumed: AnswerOutput = migres.build().compile(name="Mine").invoke(None)
    whole: AnswerOutput = migres.graph.invoke({"question": "Who?"}, version="v2").value
    for part in migres.graph.stream({"question": "Who?"}, context=migres.Context(), version="v2"):
        use(part["type"])
    gold_passages.graph.invoke({"question": "Who?", "gold_passages": []})
    use(by_dict["usage"]["llm_calls"], resumed, whole, migres.graph.batch([{"question": "Who?"}])[0]["answer"])
    use(chat.graph.invoke({"messages": []})["messages"])
    return result


async def well_typed_async() -> AnswerOutput:
    """Call a method in async code."""
    async for step in migres.graph.astream({"question": "Who?"}, stream_mode="custom", context=migres.Context()):
        use(step)
    return await genground.graph.ainvoke({"question": "Who?"}, context=genground.Context())


async def mistyped() -> None:
    """Every line has one type error."""
    result = migres.graph.invoke({"question": "Who?"})
    result["anwser"]  # error
    migres.graph.invoke({"q": 3})  # error
    migres.graph.invoke({"question": 3})  # error
    migres.graph.invoke({"question": "Who?"}, context=genground.Context())  # error
    migres.graph.invoke({"question": "Who?"}, context=3)  # error
    migres.build().compile().invoke({"question": "Who?"}, context=genground.Context())  # error
    (await migres.graph.ainvoke({"question": "Who?"}))["anwser"]  # error
    await migres.graph.ainvoke({"q": 3})  # error
    await genground.graph.ainvoke({"question": "Who?"}, context=migres.Context())  # error
    migres.graph.invoke({"question": "Who?"}, version="v2").value["anwser"]  # error
    migres.graph.stream({"q": 3})  # error
    migres.graph.astream({"question": "Who?"}, context=genground.Context())  # error
    gold_passages.graph.invoke({"question": "Who?", "gold_passages": ["text"]})  # error
    chat.graph.invoke({"messages": [("user", "Who?")]})["mesages"]  # error
