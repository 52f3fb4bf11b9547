"""Names of other packages that their documentation does not have, each with why nothing else does.

`tests/tools/io/test_framework_internals.py` says which one an upgrade took away.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from langchain_core.runnables import RunnableConfig

from hopgraph.tools.io.runnables import callback_handlers


def keep_server_files_in(folder: Path) -> None:
    """Let LangGraph's development server keep its list of threads and runs in a folder.

    It has no setting for that, and would load a pickle from the working directory, which is code of anyone who can
    write there.
    """
    runtime: Any = import_module("langgraph_runtime_inmem.database")
    runtime.OPS_FILENAME = runtime.GLOBAL_STORE.filename = str(folder / "operations")
    runtime.GLOBAL_RETRY_COUNTER._counters.filename = str(folder / "retries")


def assistant_of(graph: str) -> UUID:
    """Return the id of the assistant that LangGraph's server makes of a graph; its `auth` handlers see that alone."""
    return uuid5(import_module("langgraph_api.graph").NAMESPACE_GRAPH, graph)


def message_handlers(config: RunnableConfig | None) -> Sequence[Any]:
    """Return LangGraph's handlers of the `messages` stream, none where nobody reads it; `seen` has what was pushed.

    `push_message` pushes to them, and nothing public says whether there are any: asked to stream for no reader, a
    model would take longer.
    """
    every = callback_handlers(config)
    return [each for each in every if any(kind.__name__ == "StreamMessagesHandler" for kind in type(each).__mro__)]
