import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.tools.text import split_sentences


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["Dr. Smith met Mrs. J. K. Rowling.", "They talked."],
        ["He lived in the U.S. Senate building.", "It burnt down."],
        ["She moved to Washington, D.C.", "The house is still there."],
        ["It was built c. 1243 by the king (r. 1230-50).", "He died soon after."],
        ["The Damage Inc. tour began on Sept. 5, 1986.", "Fans came."],
        ["He played for Central F.C. in the league.", "Then he left."],
        ["Roe vs. Wade was decided in 1973.", "Nobody agreed."],
        ["Piano Sonata No. 1 is short.", "No. 2 is long."],
        ["He fought in World War I.", "The war ended in 1918."],
        ['He asked "Who goes there?" and left.', "Nobody answered."],
        ['She said "No."', "Then she left."],
        ["(It was 3.14 wide.)", "It fell."],
        ["What?!", "Really."],
        ["Wait...", "It moves."],
        ["Das kostet ca. 5 Mio. Euro bzw. mehr.", "Art. 5 Abs. 2 gilt, vgl. Seite 7."],
        ["John B. Handelsman Jr. drew it.", "Ken Griffey Sr.", "He played."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ["東京タワーは1958年に完成した。", "高さは333メートルである！", "本当？"],
        ["「行きます。」と彼は言った。", "「はい。」", "彼女は去った。"],
        ["北京是中国的首都。", "它位于华北平原。", "“你好吗？”", "他问。", "（是的。）", "完。"],
        ["他说:“我来了！”,然后走了。", "什么？！", "真的……吗？"],
        ["圆周率约为3\uff0e14。", "很好\uff0e", "再见"],
    ],
)
def test_full_width_marks_end_sentences_without_a_space(parts: list[str]) -> None:
    assert sentences("".join(parts)) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ["Bach wurde am 31. März 1685 geboren.", "Er starb am 28. Juli 1750.", "Das war am 3. August."],
        ["He finished 12.", "August came."],
        ["M. Eiffel a construit la tour.", "Est-ce vrai ?", "Oui !"],
        ["वह आया।", "फिर वह गया।"],
    ],
)
def test_sentences_of_other_languages_end_where_they_do(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == parts


def test_a_blank_line_ends_a_sentence_and_a_line_break_does_not() -> None:
    assert sentences("A heading\n \nThe text goes\non here. It ends.\r\n\r\nNext") == [
        "A heading",
        "The text goes\non here.",
        "It ends.",
        "Next",
    ]


@given(st.text(alphabet=st.sampled_from("ab A.!?。？「」と\"')(\n\t ,1\u2019\u201d…é")) | st.text())
def test_spans_ascend_and_cover_all_but_white_space(text: str) -> None:
    position = 0
    for start, end in split_sentences(text):
        assert position <= start < end <= len(text)
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


def test_every_call_returns_a_list_of_its_own() -> None:
    split_sentences("One. Two.").clear()
    assert sentences("One. Two.") == ["One.", "Two."]


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, "word " * 200_000, "." * 1_000_000, "a." * 500_000, "\n" * 1_000_000, "x\n " * 300_000],
)
def test_a_megabyte_without_a_sentence_end_is_one_sentence(text: str) -> None:
    spans = split_sentences(text)
    assert spans == ([(0, len(text.rstrip()))] if text.strip() else [])


def test_long_texts_are_split_as_their_parts_are() -> None:
    part = "Dr. Who arrived in Sept. 1963 with J. K. Rowling. It was late! Was it? He left the U.S. in a hurry. "
    expected = sentences(part)
    assert sentences(part * 400) == expected * 400


@pytest.mark.slow
def test_agrees_with_the_sentences_of_hotpotqa(shared_data: Path) -> None:
    questions = json.loads((shared_data / "hotpotqa" / "train_100.json").read_bytes())
    agreed = found = expected = 0
    for _, parts in (context for question in questions for context in question["context"]):
        text = "".join(parts)
        length = len(text.rstrip())
        lengths = [len("".join(parts[: i + 1]).rstrip()) for i in range(len(parts))]
        gold, ends = set(lengths) - {length}, {end for _, end in split_sentences(text)} - {length}
        agreed, found, expected = agreed + len(gold & ends), found + len(ends), expected + len(gold)
    assert agreed / found > 0.985  # most of the rest are slips of the data set's own sentences
    assert agreed / expected > 0.985


SHOW = "from hopgraph.tools.text import split_sentences as s; print(s('Seen by Xyzzy. Smith. He left.'))"


@pytest.mark.slow
def test_the_installed_english_model_is_used(tmp_path: Path) -> None:
    model = tmp_path / "tokenizers" / "punkt_tab" / "english"
    model.mkdir(parents=True)
    (model / "abbrev_types.txt").write_text("xyzzy\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (model / name).write_text("")
    found = {
        folder: subprocess.run(
            [sys.executable, "-c", SHOW],
            env=os.environ | {"NLTK_DATA": folder},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for folder in (str(tmp_path), str(tmp_path / "nothing"))
    }
    assert found[str(tmp_path)] == "[(0, 21), (22, 30)]"
    assert found[str(tmp_path / "nothing")] == "[(0, 14), (15, 21), (22, 30)]"


def test_rows_and_list_items_are_sentences_of_their_own() -> None:
    table = "| who | pays |\n|---|---|\n| Ada B. | 3. May |\n| Bob | 4 |"
    text = f"Prices. In euros.\n\n{table}\n- Open it. Then close it.\n- Wait\n  a day\n2. Go"
    assert [text[start:end] for start, end in split_sentences(text)] == [
        "Prices.",
        "In euros.",
        "| who | pays |\n|---|---|",
        "| Ada B. | 3. May |",
        "| Bob | 4 |",
        "- Open it. Then close it.",
        "- Wait\n  a day",
        "2. Go",
    ]


def test_a_line_break_in_prose_and_a_long_item_are_as_before() -> None:
    text = "He came\nfrom Brel. It rained.\n- " + "It rained again in the town of Brel. " * 15
    found = [text[start:end] for start, end in split_sentences(text)]
    assert found[:2] == ["He came\nfrom Brel.", "It rained."]
    assert len(found) == 17
