"""The methods: one file each in this folder; `METHODS` has them and installed ones (`registry.py`).

How to write another method (`examples/checked_answer` is one, with its prompt, its tests and its package):

1. Choose a state (`MethodState`, or one that a node you need declares, e.g. `ReviewTreeState`) and subclass a Context:
   `method` and `steps` make its roles, METHOD/STEP; fields are its settings; if it does not need a retriever, or also
   needs a reranker, set `resources`.
2. Build an `AnswerGraph(State, Context)`, which begins with the node `prepare` and, with `finish_after(…)`, ends with
   `finish`; between them add nodes from `hopgraph.nodes`. Variations are arguments of a factory: `make_retrieve_node`,
   `make_take_top_node`, `make_answer_node`, `make_review_node`. A node reads the keys that its state type names.
3. A new step is a `ModelCall` (step, variables, reply model, fallback) and a prompt, `prompts/METHOD/STEP.md` next to
   the file with the Context (syntax: `tools/prompts/prompt_files.py`); `ask_all` sends a node's calls concurrently.
   `add_node(…, reserve_calls=N)` reserves N calls of the budget for the nodes after it. The rule-based model answers an
   unknown step as it would `answer`; a reply that does not fit becomes the step's fallback.
4. Connect the nodes with edges, or in a row with `chain`; give conditional edges a path map, so that they are
   labeled. Nodes and routers get what LangGraph passes by name: `runtime` (its `context` is the settings), `config`,
   `writer`, `store`. Compile with a name. A part of another method's figure can also be a node, e.g.
   `ra_isf.build_solve`.

To change a step or two of an existing method, make a variant of it: `migres.build(nodes={"decide": mine})`
(`docs/change_one_step.md`).

Name it by its path, `--method my_method.py`, or register it in a package's entry-point group `hopgraph.methods`.
Any other compiled graph that accepts `question` and returns `answer` works, too (`hopgraph.nodes.core.hosted_graph`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopgraph.graphs.registry import ALIASES, GROUPS, METHODS, Method, Methods, find_method, list_methods

__all__ = ["ALIASES", "GROUPS", "METHODS", "Method", "Methods", "find_method", "list_methods"]


def __getattr__(name: str) -> Any:
    """Load the registry on first use: LangGraph alone takes most of a second to import."""
    if name not in __all__:
        if Path(__file__).with_name("baselines").joinpath(f"{name}.py").is_file():
            # `from … import` would hide the message of an AttributeError.
            raise ImportError(f"{name} is a baseline: from {__name__}.baselines import {name}", name=__name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hopgraph.graphs import registry

    return getattr(registry, name)
