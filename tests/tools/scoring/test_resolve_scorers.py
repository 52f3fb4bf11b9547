from collections.abc import Callable
from typing import Any

import pytest

from hopgraph.state import SpecError
from hopgraph.tools.scoring.entailment.lexical import LexicalEntailment
from hopgraph.tools.scoring.rerankers.lexical import LexicalReranker
from hopgraph.tools.scoring.resolve import resolve_entailment, resolve_reranker


@pytest.mark.parametrize(
    ("resolve", "kind"), [(resolve_reranker, LexicalReranker), (resolve_entailment, LexicalEntailment)]
)
def test_what_needs_no_model_is_found_by_its_name(resolve: Callable[[str], Any], kind: type) -> None:
    scorer = resolve(" lexical ")
    assert isinstance(scorer, kind)
    assert scorer.name == "lexical"


@pytest.mark.parametrize(
    ("resolve", "what"), [(resolve_reranker, "reranker"), (resolve_entailment, "entailment checker")]
)
@pytest.mark.parametrize("spec", ["", "bge", "nli", "Lexical:", "lexical:x"])
def test_an_unknown_spec_names_the_valid_ones(resolve: Callable[[str], Any], what: str, spec: str) -> None:
    with pytest.raises(SpecError, match=f"{what} '{spec}' is unknown; use one of: lexical"):
        resolve(spec)
