"""Chat: a conversation whose questions are answered by the methods, with numbered citations.

Messages in, messages out, so that any LangGraph chat client works with it. A turn:

* `prepare` reads the user's latest message, given as text or as blocks. For an unreadable one, the reply says what is
  wrong.
* `condense_question` makes a follow-up standalone with the help of the last turns: after "Who wrote
  Frankenstein?", "and her mother?" becomes a question about Mary Shelley's mother. What other agents and their tools
  said after the user's message, before handing off, is used as well.
* `route` separates small talk from questions, and chooses the method: the configured one, or by the rule of
  `method_for`.
* `look_up` runs the method. It is a subgraph with one node for each method, so that this drawing stays readable
  while the server draws every method inside it. LangGraph's breakpoints stop at the chat's own nodes; to step
  through a method, run its own graph.
* `reply` writes one message: the answer with marks [1], [2] and their quotes, or a plain statement that documents do
  not contain it. No other node writes messages, and intermediate model output is never streamed as one.

Steps are reported as events on the `custom` stream; with `subgraphs=True`, the method's steps as well.

Keep threads with a checkpointer, which `hopgraph.tools.apps.server.threads` opens:

    async with open_threads() as threads:
        app = chat.build().compile(checkpointer=threads.saver, name="Chat")
        config = threads.config("ann", await threads.create("ann"))
        await app.ainvoke({"messages": [("user", "Who wrote Frankenstein?")]}, config)

An interrupted turn (`(await app.aget_state(config)).next` is not empty) resumes with
`app.ainvoke(None, config)`, or starts over with `app.ainvoke({"messages": []}, config)`, which also accepts new
settings.
"""

from typing import Any, Literal

from langgraph.graph import END, START

from hopgraph.graphs import Method, list_methods
from hopgraph.nodes.chat.condense_question import condense_question
from hopgraph.nodes.chat.prepare_turn import prepare_turn
from hopgraph.nodes.chat.reply import reply
from hopgraph.nodes.chat.route import route
from hopgraph.nodes.chat.run_method import MethodNode
from hopgraph.nodes.core.compiled_method import CompiledMethod
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.state import SettingsError
from hopgraph.state.chat import AUTO, ChatContext, ChatInput, ChatState, ChosenMethod, LookUpState, TurnResult

Context = ChatContext


def chat_methods() -> dict[str, Method]:
    """List the methods that a chat can answer with."""
    return {name: each for name, each in list_methods().items() if takes_questions(each)}


def takes_questions(method: Method) -> bool:
    """Return whether a method needs only a question, and no file."""
    return not method.takes_gold_passages and not method.Context().missing


def route_message(state: ChatState) -> Literal["refused", "follow-up", "first message"]:
    """Return whether there is anything to look up, and whether earlier messages may explain it."""
    if state["kind"] == "refused":
        return "refused"
    return "follow-up" if len(state["messages"]) > 1 else "first message"


def route_kind(state: ChatState) -> Literal["question", "small talk"]:
    """Return whether the message is a question rather than small talk."""
    return "question" if state["chosen"] else "small talk"


def route_to_method(state: ChosenMethod) -> str:
    """Return the chosen method, set by `route` or by a person."""
    chosen = state["chosen"] or "one_step"
    if chosen not in Context.choices:
        raise SettingsError(f"chosen: method {chosen!r:.80} is unknown; a chat has: {', '.join(Context.choices[1:])}")
    return chosen


def look_up() -> CompiledMethod:
    """Build the graph with all methods side by side; a question takes one of them."""
    builder = MethodGraph(LookUpState, Context, input_schema=ChosenMethod, output_schema=TurnResult)
    methods = chat_methods()
    Context.choices = (AUTO, *methods)
    for name, method in methods.items():
        builder.add_node(name, MethodNode.of(method.graph.copy()))
        builder.add_edge(name, END)
    builder.add_conditional_edges(START, route_to_method, {name: name for name in methods})
    return builder.compile(name="Look up")


def build() -> MethodGraph[ChatState, Any, Any, ChatInput]:
    """Build the graph, not yet compiled.

    Messages may have any form that LangChain accepts; to a type checker, it is a graph like any other agent.
    """
    builder = MethodGraph(ChatState, Context, input_schema=ChatInput, output_schema=ChatInput)
    builder.add_node("prepare", prepare_turn({name: method.Context for name, method in chat_methods().items()}))
    builder.add_node("condense_question", condense_question)
    builder.add_node("route", route)
    builder.add_node("look_up", look_up())
    builder.add_node("reply", reply)

    builder.add_edge(START, "prepare")
    builder.add_conditional_edges(
        "prepare", route_message, {"refused": "reply", "follow-up": "condense_question", "first message": "route"}
    )
    builder.add_edge("condense_question", "route")
    builder.add_conditional_edges("route", route_kind, {"question": "look_up", "small talk": "reply"})
    builder.chain("look_up", "reply", END)
    return builder


graph = build().compile(name="Chat")
