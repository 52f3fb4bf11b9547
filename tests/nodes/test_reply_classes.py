"""Reply classes: the papers' own forms, null or nothing for what may be left out, and bounds for all that can grow."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import hopgraph.graphs
from hopgraph.nodes.chat.route import RouteReply
from hopgraph.nodes.core.reply_text import ReplyModel
from hopgraph.nodes.filter_passages import Relevance
from hopgraph.nodes.generate_queries import NewQueries
from hopgraph.nodes.ground import GroundReply
from hopgraph.nodes.judge_relevance import JointRelevance, PassageRelevance
from hopgraph.nodes.self_knowledge import SelfKnowledge
from hopgraph.state.schemas import MAX_TEXT_CHARACTERS
from hopgraph.tools.models import UnusableReplyError, parse_reply
from hopgraph.tools.models.structured import strict_schema
from support.schema_bounds import unbounded


@pytest.mark.parametrize(
    ("written", "schema", "read"),
    [
        ("know", SelfKnowledge, {"known": True}),
        ("<think>Hm.</think> Unknow.", SelfKnowledge, {"known": False}),
        ("irrelevance", PassageRelevance, {"relevant": False}),
        ('{"relevant": "Relevance."}', PassageRelevance, {"relevant": True}),
        ("No.", JointRelevance, {"thought": "", "enough": False, "relevant": []}),
        ("The relevant paragraphs are: [1][3].", JointRelevance, {"thought": "", "enough": True, "relevant": [1, 3]}),
        (
            "Relevant paragraphs: [1], [3], [4]\n\nNot relevant: [2], [5]",
            JointRelevance,
            {"thought": "", "enough": True, "relevant": [1, 3, 4]},
        ),
        ('{"query": ["When?", "Why?"]}', NewQueries, {"queries": ["When?", "Why?"]}),
        ("<ref> It was so. </ref> <revise> Lima </revise>", GroundReply, {"ref": "It was so.", "revise": "Lima"}),
        ("<Ref>It was\nso.<revise>Lima", GroundReply, {"ref": "It was\nso.", "revise": "Lima"}),
        ("<ref>Empty</ref>", GroundReply, {"ref": "Empty", "revise": ""}),
    ],
)
def test_the_papers_own_forms_are_read(written: str, schema: type[BaseModel], read: dict[str, Any]) -> None:
    assert parse_reply(written, schema).model_dump() == read


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ("I do know a lot about it.", SelfKnowledge),
        ("passage 3 is of relevance", PassageRelevance),
        ('{"query": ["When?"], "why": "x"}', NewQueries),
        ("<ref>It was so.</ref>", GroundReply),
        ("<revise>Lima</revise>", GroundReply),
        ("know", NewQueries),
    ],
)
def test_nothing_else_is_guessed_from_a_text(written: str, schema: type[BaseModel]) -> None:
    with pytest.raises(UnusableReplyError):
        parse_reply(written, schema)


@pytest.mark.parametrize(
    ("schema", "field", "read"),
    [
        (SelfKnowledge, "known", [(True, True), ("Yes.", True), ("no", False), ("Unknown", False)]),
        (
            PassageRelevance,
            "relevant",
            VERDICTS := [(True, True), ("relevance", True), ("Irrelevant.", False), ("No", False)],
        ),
        (JointRelevance, "enough", VERDICTS),
        (RouteReply, "kind", [(said, "single_hop") for said in ("single hop", "Single-Hop", " SINGLE_HOP ")]),
        (
            Relevance,
            "relevant",
            [([2, 1], [2, 1]), ("[12]", [12]), (3, [3]), (["Passage 4"], [4])]
            + [(said, []) for said in ("none", "No.", False, [])],
        ),
    ],
)
def test_a_field_is_read_as_models_write_it(schema: type[BaseModel], field: str, read: list[tuple[Any, Any]]) -> None:
    for said, value in read:
        assert getattr(schema.model_validate({field: said}), field) == value


@pytest.mark.parametrize(
    ("schema", "field", "refused"),
    [
        (SelfKnowledge, "known", ["perhaps", "", 7, [], {}, None]),
        (PassageRelevance, "relevant", ["perhaps", [1], {"a": 1}, None]),
        (Relevance, "relevant", ["yes", True, {"a": 1}, None]),
        (GroundReply, "ref", ["x" * (MAX_TEXT_CHARACTERS + 1)]),
    ],
)
def test_what_says_something_else_is_refused(schema: type[BaseModel], field: str, refused: list[Any]) -> None:
    for said in refused:
        with pytest.raises(ValidationError):
            schema.model_validate({field: said})


def reply_classes(base: type[ReplyModel]) -> Iterator[type[ReplyModel]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("hopgraph.") and not getattr(each, "__abstractmethods__", None):
            yield each
        yield from reply_classes(each)


def filled(node: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """Make a value of a schema: words, true, 1, and lists of one entry."""
    if "$ref" in node:
        return filled(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in node or "enum" in node:
        return node["enum"][0] if "enum" in node else filled(node["anyOf"][0], definitions)
    if "properties" in node:
        return {name: filled(each, definitions) for name, each in node["properties"].items()}
    values = {"string": "word", "boolean": True, "integer": 1, "number": 1}
    return [filled(node["items"], definitions)] if "items" in node else values[node["type"]]


CLASSES = {each.__name__: each for each in reply_classes(ReplyModel)}


NEEDED = {
    "GroundReply": {"revise"},  # of a ref that is not Empty
    **{name: {"answer"} for name in ("Review", "ReviewWithQuery", "DirectReview")},  # where the passages are enough
}
"""What the other fields call for."""


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_what_may_be_left_out_may_be_null_or_absent(name: str) -> None:
    assert hopgraph.graphs
    schema = CLASSES[name]
    strict: Any = strict_schema(schema)
    whole = filled(strict, strict.get("$defs", {}))
    whole |= {"action": "search[word]"} if name == "Action" else {}
    schema.model_validate(whole)
    optional = {field for field, info in schema.model_fields.items() if not info.is_required()}
    for field in sorted(optional & whole.keys() - NEEDED.get(name, set())):
        expected = schema.model_validate({key: value for key, value in whole.items() if key != field})
        assert schema.model_validate({**whole, field: None}) == expected


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_nothing_grows_without_end(name: str) -> None:
    """A small model that a grammar holds to a list without bounds writes entries until it is cut off."""
    assert not [*unbounded(strict_schema(CLASSES[name], bounded=True))]
