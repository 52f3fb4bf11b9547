import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopgraph.state import BadRecordError
from hopgraph.tools.retrieval.corpora import CorpusReading, source_records

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=8,
)


def read(path: Path, reading: CorpusReading | None = None) -> list[tuple[int, Any]]:
    return list(source_records.read_json_values(path, reading or CorpusReading()))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json") / "values.json"


@given(values=st.lists(VALUES, max_size=6), indent=st.sampled_from([None, 0, 2]), chunk=st.integers(1, 40))
def test_a_list_is_read_whatever_the_size_of_the_pieces(
    place: Path, values: list[Any], indent: int | None, chunk: int
) -> None:
    place.write_text(json.dumps(values, indent=indent, ensure_ascii=False), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_records, "_CHUNK", chunk)
        assert [value for _, value in read(place)] == values


@given(values=st.lists(st.dictionaries(st.text(st.characters(codec="utf-8")), VALUES, max_size=3), max_size=6))
def test_lines_are_read_with_their_numbers(place: Path, values: list[Any]) -> None:
    place.write_text("".join(f"{json.dumps(value)}\n\n" for value in values))
    assert read(place) == [(2 * row + 1, value) for row, value in enumerate(values)]


def test_lines_of_list_entries_are_counted_across_pieces(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_records, "_CHUNK", 7)
    place.write_text('\ufeff\n[\n{"a":\n1},\n\n{"b": "\\u00e9é"},\n3 ]\n')
    assert read(place) == [(3, {"a": 1}), (6, {"b": "éé"}), (7, 3)]


def test_a_list_in_an_object_of_several_lines(place: Path) -> None:
    place.write_text('{\n"name": "x", "other": [1, {"examples": 2}],\n"examples": [\n{"a": 1},\n7]\n, "last": 0}')
    assert read(place) == [(4, {"a": 1}), (5, 7)]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('{\n"name": "x"\n}\n', 3, "an object without a list under Data or data or examples"),
        ("{\n}", 2, "expected ':', found '}'"),
        ('[{"a": 1}\n{"b": 2}]', 2, "expected ',' or ']', found '{'"),
        ('[{"a": 1},\n{"b": tru', 2, "Expecting value"),
        ('[{"a": 1},\n', 2, "Expecting value"),
        ('[{"a": "broken\t by a tab', 1, "Invalid control character"),
        ('[{"a": "never closed', 1, "Unterminated string"),
        ('[{"a": 1},\n{"b" 2}]' + " " * 100, 2, "Expecting ':' delimiter"),
        ("[1, 2]\n[3]", 2, "'[' after the end of the list"),
        ("[" + "[" * 200_000, 1, ""),
        ("[" + "9" * 5000 + "]", 1, "digits"),
    ],
)
def test_a_broken_list_is_named_with_its_line(place: Path, text: str, line: int, reason: str) -> None:
    place.write_text(text)
    for skip_invalid in (False, True):
        with pytest.raises(BadRecordError) as error:
            read(place, CorpusReading(skip_invalid))
        assert str(error.value).startswith(f"{place}:{line}: ")
        assert reason in str(error.value)


def test_broken_lines_are_named_or_skipped(place: Path) -> None:
    place.write_bytes(b'{"a": 1}\n{"a": \n\xff\xfe{}\n' + b"{" + b'"a":[' * 200_000 + b'\n{"a": 2}\n{"a"')
    with pytest.raises(BadRecordError, match=r"values.json:2: not valid JSON: Expecting value"):
        read(place)
    reading = CorpusReading(skip_invalid=True)
    assert [value for _, value in read(place, reading)] == [{"a": 1}, {"a": 2}]
    assert reading.skipped == 4
    assert [message.removeprefix(str(place))[:3] for message in reading.first_skipped] == [":2:", ":3:", ":4:", ":6:"]
    assert reading.bytes_read == place.stat().st_size


def test_a_long_list_is_read_in_little_memory(place: Path) -> None:
    import tracemalloc

    with place.open("w") as file:
        file.write("[" + ",".join('{"text": "%s"}' % ("long " * 2000) for _ in range(2000)) + "]")
    tracemalloc.start()
    count = sum(1 for _ in source_records.read_json_values(place, CorpusReading()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (count, place.stat().st_size > 20_000_000) == (2000, True)
    assert peak < 8_000_000
