from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import CorpusError
from hopgraph.tools.retrieval.passage_store import PassageFile, StoredPassage, reason_not_to_store, write_passages

TEXTS = st.text(st.characters(codec="utf-8"))
METADATA = st.dictionaries(
    TEXTS, TEXTS | st.integers(-(2**60), 2**60) | st.booleans() | st.none() | st.lists(TEXTS), max_size=3
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("passages")


@given(st.lists(st.builds(StoredPassage, TEXTS, TEXTS, TEXTS, METADATA), min_size=1, max_size=8))
def test_what_is_written_is_read_by_row(folder: Path, passages: list[StoredPassage]) -> None:
    write_passages(folder, passages)
    stored = PassageFile(folder)
    assert len(stored) == len(passages)
    assert [stored[row] for row in reversed(range(len(passages)))] == passages[::-1]
    for row in (-1, len(passages)):
        with pytest.raises(IndexError):
            stored[row]


def test_a_passage_that_is_no_text_is_told_and_others_have_a_fingerprint(folder: Path) -> None:
    good, bad = StoredPassage("1", "", "good"), StoredPassage("2", "", "lone \ud800 surrogate")
    assert "not valid UTF-8" in reason_not_to_store(bad)
    for text in ("", "\ud800"):
        assert len(reason_not_to_store(StoredPassage("x" * 100_000, "", text))) < 150
    with pytest.raises(UnicodeEncodeError):
        write_passages(folder, [good, bad])
    before = write_passages(folder, [good])
    assert write_passages(folder, [good, StoredPassage("3", "", "good \U0001f600")]) != before
    assert [PassageFile(folder)[row].id for row in range(2)] == ["1", "3"]
    assert write_passages(folder, iter([good])) == before


@pytest.mark.parametrize(
    "damage", [b"\xff" * 40, b'{"_id": "1", "title": "", "text": 5}', b'["a list"]', b'{"_id": "1"}', b"5", b""]
)
def test_a_damaged_line_is_named_and_the_others_stay_readable(folder: Path, damage: bytes) -> None:
    long = StoredPassage("2", "", "a text that is long enough to be damaged")
    write_passages(folder, [StoredPassage("1", "", "good"), long])
    path = folder / "passages.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + damage.ljust(len(lines[1]) - 1) + b"\n")
    stored = PassageFile(folder)
    with pytest.raises(CorpusError, match=r"passages\.jsonl: damaged \(line 2\); .*hopgraph index"):
        stored[1]
    assert stored[0].text == "good"


def test_offsets_that_do_not_fit_are_refused(folder: Path) -> None:
    write_passages(folder, [StoredPassage("1", "", "good")])
    with (folder / "passages.jsonl").open("ab") as file:
        file.write(b"more")
    with pytest.raises(CorpusError, match="does not match"):
        PassageFile(folder)
