"""A callback handler that counts the runs of a graph's parts."""

from collections import Counter
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from typing_extensions import override


class Runs(BaseCallbackHandler):
    """Counts the chain runs that callback handlers see start, by name."""

    def __init__(self) -> None:
        self.begun = Counter[str]()

    @override
    def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
        self.begun[kwargs["name"]] += 1
