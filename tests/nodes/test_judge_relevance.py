"""Which passages a question is answered from: those needed where all together are enough, or each that is relevant."""

import pytest
from pydantic import ValidationError

from hopgraph.nodes.judge_relevance import JointRelevance, PassageRelevance


@pytest.mark.parametrize(("said", "read"), [(True, True), ("relevance", True), ("Irrelevant.", False), ("No", False)])
def test_verdicts_are_read_in_words(said: object, read: bool) -> None:
    assert PassageRelevance.model_validate({"relevant": said}).relevant is read
    assert JointRelevance.model_validate({"enough": said}).enough is read


@pytest.mark.parametrize("said", ["perhaps", [1], {"a": 1}, None])
def test_anything_else_is_no_verdict(said: object) -> None:
    with pytest.raises(ValidationError):
        PassageRelevance.model_validate({"relevant": said})
