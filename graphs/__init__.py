"""The methods: one file each in this folder; `METHODS` has them and installed ones (`registry.py`).

How to write another method (`examples/checked_answer` is one, with its prompt, its tests and its package):

1. Choose a state (`MethodState`, or one that a node you want declares, e.g. `ReviewTreeState`) and subclass a Context:
   `method` and `steps` make its roles, METHOD/STEP, and fields its settings; where it needs no retriever, or a
   reranker too, `resources` says so.
2. Build an `AnswerGraph(State, Context)`, which begins with the node `prepare` and, by `finish_after(…)`, ends with
   `finish`; between them add nodes from `hopgraph.nodes`. What differs is a factory's argument: `make_retrieve_node`,
   `make_take_top_node`, `make_answer_node`, `make_review_node`. A node reads what its first parameter's type names.
3. A new step is a `ModelCall` (step, variables, reply model, fallback) and a prompt, `prompts/METHOD/STEP.md` beside
   the file with the Context (syntax: `tools/prompts/prompt_files.py`); `ask_all` sends the calls of one node at once.
   `add_node(…, reserve_calls=N)` holds N calls of a budget back for the nodes after it. The rule-based model answers a
   step that it does not know as it would `answer`; a reply that this does not fit becomes the step's fallback.
4. Join the nodes with edges, a chain of them by `chain`; give conditional edges a path map, so that they are
   labelled. Nodes and routers take what LangGraph gives by name: `runtime` (its `context` is the settings), `config`,
   `writer`, `store`. Compile with a name. A part of another method's figure can be a node too, as
   `ra_isf.build_solve`.

To change a step or two of an existing method, make a variant of it: `migres.build(nodes={"decide": mine})`
(`docs/change_one_step.md`).

Name it by its path, `--method my_method.py`, or offer it from a package by the entry-point group `hopgraph.methods`.
Any other compiled graph that takes `question` and returns `answer` works, too (`hopgraph.nodes.core.hosted_graph`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopgraph.graphs.registry import ALIASES, GROUPS, METHODS, Method, Methods, find_method, list_methods

__all__ = ["ALIASES", "GROUPS", "METHODS", "Method", "Methods", "find_method", "list_methods"]


def __getattr__(name: str) -> Any:
    """Load the registry when it is first used: LangGraph alone takes most of a second to import."""
    if name not in __all__:
        if Path(__file__).with_name("baselines").joinpath(f"{name}.py").is_file():
            # `from … import` would not show the text of an AttributeError.
            raise ImportError(f"{name} is a baseline: from {__name__}.baselines import {name}", name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hopgraph.graphs import registry

    return getattr(registry, name)
