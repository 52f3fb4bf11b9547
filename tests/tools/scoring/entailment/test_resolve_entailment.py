import pytest

from hopgraph.state import SpecError
from hopgraph.tools.scoring.entailment import LexicalEntailment, resolve_entailment


def test_the_lexical_check_is_found_by_its_name() -> None:
    checker = resolve_entailment("lexical")
    assert isinstance(checker, LexicalEntailment)
    assert checker.name == "lexical"


@pytest.mark.parametrize("spec", ["", "nli", "lexical:x"])
def test_an_unknown_spec_names_the_valid_ones(spec: str) -> None:
    with pytest.raises(SpecError, match=f"entailment checker '{spec}' is unknown; use one of: lexical"):
        resolve_entailment(spec)
