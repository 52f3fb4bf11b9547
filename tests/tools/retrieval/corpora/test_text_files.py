from pathlib import Path

import pytest

from hopgraph.state import BadRecordError
from hopgraph.tools.retrieval.corpora import CorpusReading, SourceRecord, open_corpus


def records(source: Path, *, skip_bad: bool = False) -> list[SourceRecord]:
    return list(open_corpus(source).records(CorpusReading(skip_bad)))


def prose(sentences: int, words: int = 10) -> str:
    return " ".join(f"Sentence {n} has" + " some" * (words - 4) + " words." for n in range(sentences))


def test_files_become_passages_with_a_path_a_number_and_a_title(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("Hidden.")
    (tmp_path / "b" / "notes.txt").write_bytes("\ufeffCafé in the\r\nrain. It pours.\r\n".encode())
    (tmp_path / "a.md").write_text("Intro.\n\n# The Title #\nText below it.\n## Part\nMore text.\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "blank.txt").write_text(" \n\n")
    assert [(r.id, r.title, r.text, r.line) for r in records(tmp_path)] == [
        ("a.md#1", "The Title", "Intro. Text below it. More text.", 1),
        ("b/notes.txt#1", "notes", "Café in the rain. It pours.", 1),
    ]
    assert [r.id for r in records(tmp_path / "a.md")] == ["a.md#1"]


def test_passages_have_about_a_hundred_words_and_end_with_a_sentence(tmp_path: Path) -> None:
    text = prose(95, words=13) + "\n\n" + prose(5, words=90)
    (tmp_path / "a.txt").write_text(text)
    passages = records(tmp_path)
    lengths = [len(passage.text.split()) for passage in passages]
    assert " ".join(passage.text for passage in passages) == " ".join(text.split())
    assert all(passage.text.endswith("words.") for passage in passages)
    assert all(60 <= length <= 150 for length in lengths)
    assert 90 <= sum(lengths) / len(lengths) <= 110
    assert [passage.id for passage in passages] == [f"a.txt#{n + 1}" for n in range(len(passages))]
    assert passages[0].line == 1
    assert passages[-1].line == 3


@pytest.mark.parametrize("text", ["word " * 50_000, "x" * 300_000, "a line\n" * 60_000])
def test_text_without_sentences_is_cut_into_pieces_too(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    passages = records(tmp_path)
    assert "".join("".join(passage.text.split()) for passage in passages) == "".join(text.split())
    assert max(len(passage.text) for passage in passages) <= 1400
    assert len(passages) > 100


def test_a_line_that_is_not_utf8_is_named_or_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Good line.\nBad \xe9 line.\nLast line.\n")
    with pytest.raises(BadRecordError, match=r"a\.txt:2: byte 5 of the line is not UTF-8"):
        records(tmp_path)
    reading = CorpusReading(skip_bad=True)
    (passage,) = open_corpus(tmp_path).records(reading)
    assert (passage.text, reading.skipped) == ("Good line. Last line.", 1)
