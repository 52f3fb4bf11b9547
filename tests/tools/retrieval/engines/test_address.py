import pytest

from hopgraph.state import SpecError
from hopgraph.tools.retrieval.engines.engine import is_engine, parse_address


@pytest.mark.parametrize(
    ("spec", "uri", "collection", "mode"),
    [
        ("milvus:./wiki.db#wiki", "./wiki.db", "wiki", None),
        (" milvus:http://host:19530#wiki?mode=dense ", "http://host:19530", "wiki", "dense"),
        ("elasticsearch:https://host:9200/#wiki?mode=bm25", "https://host:9200", "wiki", "bm25"),
    ],
)
def test_a_spec_is_taken_apart(spec: str, uri: str, collection: str, mode: str | None) -> None:
    address = parse_address(spec)
    assert (address.uri, address.collection, address.mode) == (uri, collection, mode)
    assert str(address) == f"{address.kind}:{uri}#{collection}"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("milvus:", "address is missing"),
        ("milvus:#wiki", "address is missing"),
        ("milvus:wiki.db", "collection is missing after #"),
        ("milvus:wiki#wiki", "must end in .db"),
        ("elasticsearch:http://host:9200", "index is missing after #"),
        ("elasticsearch:host:9200#wiki", "must begin with http"),
        ("milvus:wiki.db#wiki?mode=both", "mode 'both' is unknown; use one of: bm25, dense, hybrid"),
        ("milvus:wiki.db#wiki?k=3", "option 'k' is unknown; valid: mode, bm25_weight and links"),
        ("solr:http://host#wiki", "there is no engine 'solr'"),
    ],
)
def test_a_bad_spec_says_what_is_wrong_and_what_is_valid(spec: str, problem: str) -> None:
    with pytest.raises(SpecError, match=r"valid: milvus:FILE.db#COLLECTION") as caught:
        parse_address(spec)
    assert problem in str(caught.value)


def test_passwords_in_addresses_are_not_shown() -> None:
    address = parse_address("elasticsearch:https://elastic:hunter2@host:9200#wiki")
    assert "hunter2" in address.uri
    assert str(address) == "elasticsearch:https://host:9200#wiki"
    assert "hunter2" not in repr(address)
    with pytest.raises(SpecError) as caught:
        parse_address("elasticsearch:https://elastic:hunter2@host:9200#wiki?mode=x")
    assert "hunter2" not in str(caught.value)


def test_engines_are_told_from_other_retrievers() -> None:
    assert is_engine("milvus:") is is_engine("elasticsearch:http://h#i") is True
    assert is_engine("bm25:milvus") is is_engine("milvus") is is_engine("sample") is False
