"""Names of other packages that their documentation does not have, each with why nothing else does.

`tests/tools/io/test_framework_internals.py` says which one an upgrade took away.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from hopgraph.tools.io.callbacks import callback_handlers


def message_handlers(config: RunnableConfig | None) -> Sequence[Any]:
    """Return LangGraph's handlers of the `messages` stream, none where nobody reads it; `seen` has what was pushed.

    `push_message` pushes to them, and nothing public says whether there are any: asked to stream for no reader, a
    model would take longer.
    """
    every = callback_handlers(config)
    return [each for each in every if any(kind.__name__ == "StreamMessagesHandler" for kind in type(each).__mro__)]
