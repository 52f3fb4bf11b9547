import pytest

from hopgraph.state import SpecError
from hopgraph.tools.scoring.rerankers import LexicalReranker, resolve_reranker


def test_the_lexical_reranker_is_found_by_its_name() -> None:
    reranker = resolve_reranker(" lexical ")
    assert isinstance(reranker, LexicalReranker)
    assert reranker.name == "lexical"


@pytest.mark.parametrize("spec", ["", "bge", "Lexical:", "lexical:x"])
def test_an_unknown_spec_names_the_valid_ones(spec: str) -> None:
    with pytest.raises(SpecError, match=f"reranker '{spec}' is unknown; use one of: lexical"):
        resolve_reranker(spec)
