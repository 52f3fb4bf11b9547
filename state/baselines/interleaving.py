"""Settings of the baselines that interleave questions and retrieval: ReAct and Self-Ask."""

from typing import ClassVar

from hopgraph.state.hops import HopsContext


class ReactContext(HopsContext):
    """The settings of ReAct."""

    method: ClassVar[str] = "react"
    steps: ClassVar[tuple[str, ...]] = ("act", "answer")


class SelfAskContext(HopsContext):
    """The settings of Self-Ask."""

    method: ClassVar[str] = "self_ask"
    steps: ClassVar[tuple[str, ...]] = ("follow_up", "answer")
