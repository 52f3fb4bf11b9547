"""The graph of a method, from a question to its answer: what all of them begin and end with."""

from collections.abc import Collection, Mapping
from typing import Any, Self

from langgraph.graph import END, START

from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state import AnswerOutput, Context, QuestionInput


class AnswerGraph(MethodGraph):
    """A `MethodGraph` that begins with the node `prepare` and, once `end` was called, ends with `finish`.

    Its input is a question (and the keys in `given`, which `prepare` leaves as they are), its output an answer, unless
    other schemas are named.
    """

    def __init__(
        self, state_schema: type[Any], context_schema: type[Context], *, given: Collection[str] = (), **options: Any
    ) -> None:
        schemas = {"input_schema": QuestionInput, "output_schema": AnswerOutput, **options}
        super().__init__(state_schema, context_schema, **schemas)
        self.add_node("prepare", prepare_for(state_schema, given=given)).add_edge(START, "prepare")

    def add_choice(self, source: str, key: str, some: Mapping[str, str], none: Mapping[str, str]) -> Self:
        """Add two edges, each as its label and where it leads: to `none` where the state's `key` is empty or false.

        A key that the state does not have is that of a setting, as the run recorded it.
        """
        [yes], [no] = some, none
        fields = self._context.model_fields

        def route(state: Mapping[str, Any]) -> str:
            given = state if key in state else state["settings"]
            return yes if (given[key] if key in given else fields[key].default) else no

        route.__name__ = f"any_{key}"
        route.__annotations__["state"] = self.state_schema  # else LangGraph shows it no more than the node reads
        return self.add_conditional_edges(source, route, {**some, **none})

    def end(self, *last: str) -> Self:
        """Add `finish`, behind these nodes, as the end of the run; other edges may lead there, too."""
        self.add_node("finish", finish)
        for node in last:
            self.add_edge(node, "finish")
        return self.add_edge("finish", END)
