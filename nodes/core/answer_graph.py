"""The graph of a method, from a question to its answer: the common beginning and end."""

from collections.abc import Collection, Mapping
from typing import Any, Self

from langgraph.graph import END, START
from langgraph.runtime import Runtime
from typing_extensions import TypedDict, TypeVar

from hopgraph.nodes.core.compiled_method import ContextT
from hopgraph.nodes.core.method_graph import MethodGraph
from hopgraph.nodes.core.step_function import state_keys
from hopgraph.nodes.finish import finish
from hopgraph.nodes.prepare import prepare_for
from hopgraph.state import AnswerOutput, QuestionInput, SettingsError
from hopgraph.state import Context as Settings


class Changes(TypedDict, total=False):
    """Arguments of a method's `build` that make a variant; the rest stays as it is."""

    nodes: Mapping[str, Any]
    """Name → replacement node; `outer.inner` names one of a subgraph."""
    Context: type[Settings]
    """A subclass of the method's, with its own settings, prompts or name."""
    State: type[Any]
    """The method's state with additional keys, which `prepare` initializes."""


QuestionT = TypeVar("QuestionT", bound=Any, default=QuestionInput)
AnswerT = TypeVar("AnswerT", bound=Any, default=AnswerOutput)


class AnswerGraph(MethodGraph[Any, ContextT, QuestionT, AnswerT]):
    """A `MethodGraph` that begins with the node `prepare` and, once `finish_after` was called, ends with `finish`.

    Its input is a question (and the keys in `given`, which `prepare` leaves alone), its output an answer, unless
    other schemas are given. The changes of a variant replace the schemas and, in `finish_after`, nodes.
    """

    def __init__(
        self,
        state_schema: type[Any],
        context_schema: type[Any],
        *,
        given: Collection[str] = (),
        nodes: Mapping[str, Any] | None = None,
        Context: type[Settings] | None = None,  # noqa: N803 - its name in the method's module
        State: type[Any] | None = None,  # noqa: N803
        **options: Any,
    ) -> None:
        if Context and not issubclass(Context, context_schema):
            raise SettingsError(f"Context={Context.__name__} is not a subclass of {context_schema.__name__}")
        if State and (missing := state_keys(state_schema).keys() - state_keys(State).keys()):
            raise SettingsError(f"State={State.__name__} lacks {min(missing)!r}; subclass {state_schema.__name__}")
        schemas = {"input_schema": QuestionInput, "output_schema": AnswerOutput, **options}
        super().__init__(State or state_schema, Context or context_schema, **schemas)
        self._changed = nodes or {}
        self.add_node("prepare", prepare_for(self.state_schema, given=given)).add_edge(START, "prepare")

    def add_branch(self, source: str, key: str, if_set: Mapping[str, str], if_empty: Mapping[str, str]) -> Self:
        """Add two labeled edges: to `if_set` if the state's `key` is set, to `if_empty` if it is empty or false.

        If the state does not have the key, it names a setting.
        """
        [yes], [no] = if_set, if_empty
        is_state = key in state_keys(self.state_schema)

        def route(state: Any, runtime: Runtime[Settings]) -> str:
            return yes if (state[key] if is_state else getattr(runtime.context, key)) else no

        route.__name__ = f"any_{key}"
        return self.add_conditional_edges(source, route, {**if_set, **if_empty})

    def finish_after(self, *last: str) -> Self:
        """Add `finish` after these nodes, as the end of the run; other edges may lead there, too."""
        self.add_node("finish", finish)
        for node in last:
            self.add_edge(node, "finish")
        self.add_edge("finish", END)
        for name, node in self._changed.items():
            self.replace_node(name, node)
        return self
