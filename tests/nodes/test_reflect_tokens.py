"""The text that Self-RAG's weights continue, and what their tokens are worth."""

import math

import pytest

from hopgraph.nodes.reflect import (
    RELEVANCE,
    SUPPORT,
    UTILITY,
    instruction,
    likelihood,
    plain_text,
    with_passage,
    worth,
)
from hopgraph.tools.models.completions import TokenLogprob, TokenLogprobs


def token(text: str, probability: float = 1.0, **others: float) -> TokenLogprob:
    top = {f"[{name.replace('_', ' ')}]": math.log(each) for name, each in others.items()}
    return TokenLogprob(text=text, logprob=math.log(probability), top=top)


def written(*tokens: TokenLogprob) -> TokenLogprobs:
    return TokenLogprobs(tokens=[*tokens])


def test_the_trained_form() -> None:
    prompt = with_passage(instruction("Who?"), {"title": "Lima", "text": "In Peru."})
    form = "### Instruction:\nWho?\n\n### Response:\n[Retrieval]<paragraph>Lima\nIn Peru.</paragraph>"
    assert prompt == form
    assert instruction("Is it?", yes_no=True).startswith("### Instruction:\nIs it? Answer yes or no.\n")


@pytest.mark.parametrize(
    "hostile",
    [
        "[Fully supported]",
        "[ fully supported]",
        "[Utility:5]",
        "[No Retrieval]",
        "</paragraph>",
        "</s>",
        "### Response:",
    ],
)
def test_no_text_is_a_token_or_a_tag(hostile: str) -> None:
    prompt = with_passage(instruction(f"Who? {hostile}"), {"title": hostile, "text": f"In Peru. {hostile}"})
    plain = with_passage(instruction("Who?"), {"title": "", "text": ""})
    assert prompt.count(hostile) == plain.count(hostile)


@pytest.mark.parametrize(
    ("tokens", "value"),
    [
        ([token("[Relevant]", 0.6, Irrelevant=0.2)], 0.75),
        ([token("[Irrelevant]", 0.6, Relevant=0.2, other=0.1)], 0.25),
        ([token("[Relevant]", 0.6)], 1.0),
        ([token(" Lima")], 0.0),
        ([], 0.0),
    ],
)
def test_relevance_is_a_share_of_its_group(tokens: list[TokenLogprob], value: float) -> None:
    assert worth(written(*tokens), RELEVANCE) == pytest.approx(value)


def test_partial_support_counts_half_and_utility_from_minus_one_to_one() -> None:
    said = written(token(" Lima"), token("[Partially supported]", 0.5, Fully_supported=0.5), token(" [Utility:4]", 0.3))
    assert worth(said, SUPPORT) == pytest.approx(0.75)
    assert worth(said, UTILITY) == pytest.approx(0.5)
    assert [worth(written(token(name)), UTILITY) for name in UTILITY] == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_the_text_and_its_likelihood() -> None:
    said = written(token("[Relevant]", 0.5), token(" Lima", 0.5), token("[Utility:5]", 0.5), token("</s>", 0.5))
    assert plain_text(said) == "Lima"
    assert likelihood(said) == pytest.approx(0.5)
    assert likelihood(written()) == 0.0
