from collections.abc import Callable
from typing import Any

import pytest

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
