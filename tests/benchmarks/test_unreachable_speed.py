"""An engine that cannot be reached is told after seconds, not after the retries of its client."""

import time

import pytest

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.engines.engine_index import resolve_engine
from support.hashed_words import HashedWords


@pytest.mark.benchmark
@pytest.mark.parametrize(("engine", "package"), [("milvus", "pymilvus"), ("elasticsearch", "elasticsearch")])
def test_nothing_listens(engine: str, package: str) -> None:
    pytest.importorskip(package, reason=f"needs the {engine} extra")
    began = time.perf_counter()
    with pytest.raises(CorpusError, match="cannot be"):
        resolve_engine(f"{engine}:http://127.0.0.1:9#x", HashedWords())
    assert time.perf_counter() - began < 10
