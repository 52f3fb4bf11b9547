"""Whether the model knows the answer: yes or no."""

import pytest
from pydantic import ValidationError

from hopgraph.nodes.self_knowledge import SelfKnowledge


@pytest.mark.parametrize(("said", "known"), [(True, True), ("Yes.", True), ("no", False), ("Unknown", False)])
def test_self_knowledge_is_yes_or_no(said: object, known: bool) -> None:
    assert SelfKnowledge.model_validate({"known": said}).known is known


@pytest.mark.parametrize("said", ["perhaps", "", 7, [], {}, None])
def test_anything_else_is_no_self_knowledge(said: object) -> None:
    with pytest.raises(ValidationError):
        SelfKnowledge.model_validate({"known": said})
