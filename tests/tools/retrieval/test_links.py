"""Links between passages: what they are, how far they raise what is linked, over every kind of index."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hopgraph.graphs.baselines import one_step
from hopgraph.state import CorpusError
from hopgraph.state.events import Retrieved, parse_event
from hopgraph.tools.apps.evaluation.datasets import read_questions
from hopgraph.tools.apps.evaluation.metrics import recall_at
from hopgraph.tools.retrieval import Hit, build_index, open_index, resolve_retriever, update_index
from hopgraph.tools.retrieval.joined_retriever import JoinedRetriever, fetch_documents
from hopgraph.tools.retrieval.linked_index import LinkedIndex, with_links, without_links
from hopgraph.tools.retrieval.links import FOLDER, LINK_DEPTH, Links, find_links, names_of
from hopgraph.tools.retrieval.passage_retriever import FusedIndex, IndexRetriever, SearchableIndex
from hopgraph.tools.retrieval.passage_store import StoredPassage

FILMS = [
    ("harbour", "Harbour Lights", "Harbour Lights is a film that Mara Lindqvist made."),
    ("lindqvist", "Mara Lindqvist (artist)", "Born in Malmö in 1961."),
    ("malmo", "Malmö", "A town on the Sound, where a film festival is held."),
    ("other", "Light", "A film about light in a harbour, and about lights."),
]
QUESTION = "In which town did the director of the film Harbour Lights grow up?"


def corpus(path: Path, *rows: tuple[str, str, str]) -> Path:
    path.write_text("".join(json.dumps({"_id": key, "title": title, "text": text}) + "\n" for key, title, text in rows))
    return path


def passages(*rows: tuple[str, str, str]) -> list[StoredPassage]:
    return [StoredPassage(key, title, text) for key, title, text in rows]


def edges(links: Links) -> set[tuple[int, int]]:
    starts, targets = links.forward_starts, links.forward_targets
    forward = {(row, int(each)) for row in range(len(starts) - 1) for each in targets[starts[row] : starts[row + 1]]}
    starts, targets = links.backward_starts, links.backward_targets
    backward = {(int(each), row) for row in range(len(starts) - 1) for each in targets[starts[row] : starts[row + 1]]}
    assert forward == backward
    return forward


@pytest.fixture
def films(tmp_path: Path) -> Path:
    return build_index(corpus(tmp_path / "films.jsonl", *FILMS), tmp_path / "index").path


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Malmö", {"Malmö"}),
        ("Casablanca (film)", {"Casablanca"}),
        ("The Third Man", {"The Third Man", "Third Man"}),
        ("Handbook > Travel > Daily Rates", {"Daily Rates"}),
        ("Saint-Exup\u00e9ry\u2019s Plane", {"Saint-Exup\u00e9ry's Plane"}),
        ("1984", {"1984"}),
        ("(What's the Story)", {"(What's the Story)"}),
        ("Ulm", set[str]()),
        ("travel expenses", set[str]()),
        ("", set[str]()),
    ],
)
def test_a_title_is_mentioned_by_these_names(title: str, names: set[str]) -> None:
    assert names_of(title) == names


@pytest.mark.parametrize(
    ("text", "is_link"),
    [
        ("She came from Malmö.", True),
        ("The Malmö-born director", True),
        ("Malmöhus is a county", False),
        ("the malmö of films", False),
        ("Harbour Lights of Malmö Town", False),
    ],
)
def test_a_name_counts_as_it_is_written_at_word_boundaries_and_the_longest_wins(text: str, *, is_link: bool) -> None:
    found = find_links(passages(("a", "Someone", text), ("b", "Malmö", "A town."), ("c", "Malmö Town", "A club.")))
    assert ((0, 1) in edges(found)) is is_link


def test_names_that_too_many_have_or_mention_say_nothing() -> None:
    often = [(f"o{number}", f"No {number}", "Far from Malmö.") for number in range(101)]
    same = [(f"s{number}", "Lund", "A town.") for number in range(11)]
    found = edges(find_links(passages(("a", "Malmö", "Near Lund."), *often, *same)))
    assert found == set()
    assert len(edges(find_links(passages(("a", "Malmö", "Near Lund."), *often[1:], *same[1:])))) == 110


def test_a_file_is_mentioned_by_its_name() -> None:
    parts = [StoredPassage(f"r{number}", "", "Rates.", {"source": "rules/rates.xlsx"}) for number in range(2)]
    found = find_links([StoredPassage("a", "", "The sums are in rates.xlsx.", {"source": "a.md"}), *parts])
    assert edges(found) == {(0, 1)}


@pytest.mark.parametrize("rows", [[], [("a", "", "Nothing here.")]])
def test_a_corpus_without_names_has_no_links(rows: list[tuple[str, str, str]]) -> None:
    links = find_links(passages(*rows))
    assert edges(links) == set()
    assert [each.row for each in links.follow("Who?", [(row, 1.0) for row in range(len(rows))], 5)] == [0][: len(rows)]


async def test_a_search_finds_what_its_hits_mention_and_says_whose_link_it_was(films: Path) -> None:
    retriever = resolve_retriever(f"bm25:{films}")
    found = retriever.invoke(QUESTION, k=2)
    assert [each.id for each in found] == ["harbour", "lindqvist"]
    assert found[1].metadata["linked_from"] == "Harbour Lights"
    assert "linked_from" not in found[0].metadata
    plain = await without_links(retriever).ainvoke(QUESTION)
    assert "lindqvist" not in [each.id for each in plain]
    assert retriever.invoke(" ") == retriever.invoke(QUESTION, k=0) == []


@pytest.mark.parametrize("links", [True, False])
async def test_the_setting_switches_them_on_and_off(films: Path, *, links: bool) -> None:
    spec = f"bm25:{films}"
    for retriever in (spec, resolve_retriever(spec), JoinedRetriever(retrievers={"": spec})):
        settings = one_step.Context(retriever=retriever, links=links)
        told = list[Any]()
        async for mode, chunk in one_step.graph.astream(
            {"question": QUESTION}, context=settings, stream_mode=["custom", "values"]
        ):
            told += [parse_event(chunk)] if mode == "custom" else []
        (found,) = [each for each in told if isinstance(each, Retrieved)]
        assert found.linked_from.get("lindqvist") == ("Harbour Lights" if links else None)
        assert links or not found.linked_from
        assert found.scores == sorted(found.scores, reverse=True)


async def test_more_passages_begin_with_those_that_fewer_are(films: Path) -> None:
    index = with_links(open_index(films), films)
    every = await index.asearch(QUESTION, 1000)
    for k in range(1, len(every) + 1):
        assert await index.asearch(QUESTION, k) == every[:k]


def test_hits_beyond_those_that_are_compared_keep_their_order() -> None:
    rows = [(f"p{number}", f"No {number}", "text") for number in range(LINK_DEPTH + 20)]
    links = find_links(passages(*rows))
    hits = [(row, 500.0 - row) for row in range(LINK_DEPTH + 20)]
    assert [each.row for each in links.follow("x", hits, 1000)] == list(range(LINK_DEPTH + 20))


def test_an_update_has_the_links_of_a_new_index(tmp_path: Path) -> None:
    source = corpus(tmp_path / "films.jsonl", *FILMS[:2])
    build_index(source, tmp_path / "index")
    corpus(source, *FILMS, ("new", "Sound", "A film about Malmö and Mara Lindqvist."))
    update_index(source, tmp_path / "index")
    build_index(source, tmp_path / "fresh")
    for file in sorted((tmp_path / "fresh" / FOLDER).iterdir()):
        assert file.read_bytes() == (tmp_path / "index" / FOLDER / file.name).read_bytes(), file.name


@pytest.mark.parametrize("title", ["A" + " " * 100_000 + "x", "X" * 100_000, "(" * 50_000 + "A", "A (b" * 20_000])
def test_hostile_titles_take_no_time(title: str) -> None:
    began = time.process_time()
    find_links(passages(("a", title, title), ("b", "Malmö", title)))
    assert time.process_time() - began < 2


def test_an_update_gives_an_index_of_an_earlier_version_its_links(tmp_path: Path) -> None:
    source = corpus(tmp_path / "films.jsonl", *FILMS)
    index = build_index(source, tmp_path / "index").path
    manifest = json.loads((index / "manifest.json").read_text())
    manifest["files"] = {name: size for name, size in manifest["files"].items() if not name.startswith(FOLDER)}
    (index / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(index / FOLDER)
    assert not isinstance(with_links(open_index(index), index), LinkedIndex)
    update_index(source, index)
    assert isinstance(with_links(open_index(index), index), LinkedIndex)


async def test_links_that_lead_nowhere_are_damage(films: Path) -> None:
    path = films / FOLDER / "forward_targets.npy"
    np.save(path, np.full_like(np.load(path), 99))
    with pytest.raises(CorpusError, match="damaged"):
        await with_links(open_index(films), films).asearch(QUESTION, 5)


class ByIds:
    """Finds what another index finds, and knows ids alone, as a search engine does."""

    source = "engine:films"

    def __init__(self, index: SearchableIndex, unknown: str = "") -> None:
        self._index, self._unknown = index, unknown

    async def asearch(self, query: str, k: int) -> list[Hit]:
        hits = [hit._replace(row=None) for hit in await self._index.asearch(query, k)]
        return [*hits, Hit(StoredPassage(self._unknown, "", "x"), 0.0)] if self._unknown else hits


async def test_an_engine_follows_the_links_of_an_index_of_the_same_passages(films: Path) -> None:
    index = open_index(films)
    expected = [hit.passage.id for hit in await with_links(index, films).asearch(QUESTION, 5)]
    assert [hit.passage.id for hit in await with_links(ByIds(index), films).asearch(QUESTION, 5)] == expected
    for unknown in ("aaa", "m", "zzz"):
        with pytest.raises(CorpusError, match=f"'{unknown}', which is not in the index with the links"):
            await with_links(ByIds(index, unknown), films).asearch(QUESTION, 5)


SETS = {"musique/train_100.jsonl": 12, "hotpotqa/train_100.json": 19, "2wikimultihopqa/train_200.json": 27}
CUTOFFS = (5, 10, 15)


OTHERS = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("musique/train_100.jsonl", "nq/open_oracle_500.jsonl")
]


@pytest.fixture(scope="module", params=[*list(SETS)[1:], *OTHERS])
def real(request: pytest.FixtureRequest, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    index = build_index(shared_data / request.param, tmp_path_factory.mktemp("links") / "index").path
    return request.param, index, [each for each in read_questions(shared_data / request.param) if each.gold]


def recalls(index: SearchableIndex, questions: list[Any]) -> dict[int, float]:
    retriever = IndexRetriever(index=index)
    found = [[str(each.id) for each in retriever.invoke(asked.question, k=max(CUTOFFS))] for asked in questions]
    means = {k: [recall_at(k)(ids, asked.gold) for ids, asked in zip(found, questions, strict=True)] for k in CUTOFFS}
    return {k: 100 * float(np.mean(each)) for k, each in means.items()}


def test_recall_rises_on_real_questions_and_falls_nowhere(real: Any) -> None:
    name, folder, questions = real
    base = open_index(folder)
    plain, linked = recalls(base, questions), recalls(with_links(base, folder), questions)
    assert linked[5] - plain[5] >= SETS.get(name, -0.5)
    assert all(linked[k] >= plain[k] - 0.5 for k in CUTOFFS)


async def test_they_are_followed_over_fused_rankings(films: Path) -> None:
    base = open_index(films)
    fused = with_links(FusedIndex("hybrid:x", base, base), films)
    assert isinstance(fused, LinkedIndex)
    documents = await fetch_documents(IndexRetriever(index=fused), QUESTION, 2)
    assert [each.id for each in documents] == ["harbour", "lindqvist"]
