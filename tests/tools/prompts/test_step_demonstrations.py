"""Worked examples: where they are looked for, and which are refused before anything is spent."""

import json
from pathlib import Path
from typing import Any

import pytest

from hopgraph.graphs import METHODS
from hopgraph.state import PromptError, SettingsError
from hopgraph.tools.prompts import FAMILIES, check_demonstrations, prompts_root, read_demonstrations, render

STEPS = METHODS["migres"].Context.steps
PASSAGES = [{"title": "T", "text": "A text."}]
GOOD = {"input": {"passages": PASSAGES, "question": "Mine?"}, "output": {"useful_information": []}}


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def changed(**values: Any) -> dict[str, Any]:
    return {**GOOD, "input": {**GOOD["input"], **values}}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_built_in_ones_fit_their_steps(family: str) -> None:
    for method in METHODS.values():
        check_demonstrations(method.Context.method, method.Context.steps, family)


def test_those_of_a_prompts_folder_stand_for_the_built_in_ones(tmp_path: Path) -> None:
    built_in = read_demonstrations("migres/decide", "multi_hop")
    write(tmp_path / "migres" / "extract.multi_hop.jsonl", GOOD)
    check_demonstrations("migres", STEPS, "multi_hop", [str(tmp_path)])
    (found,) = read_demonstrations("migres/extract", "multi_hop", [str(tmp_path)])
    assert found.input["question"] == "Mine?"
    assert read_demonstrations("migres/decide", "multi_hop", [str(tmp_path)]) == built_in
    assert read_demonstrations("migres/extract", "yes_no", str(tmp_path)) == read_demonstrations(
        "migres/extract", "yes_no"
    )
    variables = {"passages": PASSAGES, "question": "Q?"}
    messages = render("migres/extract", variables, folders=[str(tmp_path)], demonstrations="multi_hop")
    assert [str(message.text) for message in messages[1:3]] == [
        str(render("migres/extract", GOOD["input"])[1].text),
        '{"useful_information": []}',
    ]


def test_a_folder_holds_them_by_step(tmp_path: Path) -> None:
    write(tmp_path / "extract.jsonl", GOOD)
    write(tmp_path / "ground.jsonl", "of another method, so never read")
    check_demonstrations("migres", STEPS, str(tmp_path))
    assert len(read_demonstrations("migres/extract", str(tmp_path))) == 1
    assert read_demonstrations("migres/decide", str(tmp_path)) == ()


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "no file for migres; it reads decide.jsonl, "),
        (["ground.jsonl"], "no file for migres; it reads decide.jsonl, "),
        (["decide.jsonl", "extrct.jsonl"], "did you mean 'extract.jsonl'?"),
        (["extract.multi_hop.jsonl"], "here a file is called extract.jsonl; files of a family are used with "),
    ],
)
def test_a_folder_that_would_be_ignored_is_refused(names: list[str], said: str, tmp_path: Path) -> None:
    for name in names:
        write(tmp_path / name)
    with pytest.raises(SettingsError) as caught:
        check_demonstrations("migres", STEPS, str(tmp_path))
    assert said in str(caught.value)


def test_what_is_neither_a_family_nor_a_folder_is_a_wrong_setting() -> None:
    with pytest.raises(SettingsError, match="'multihop': neither one of multi_hop"):
        check_demonstrations("migres", STEPS, "multihop")
    with pytest.raises(SettingsError, match="'multihop': neither one of multi_hop"):
        render("migres/extract", GOOD["input"], demonstrations="multihop")


def test_no_demonstrations_are_fine() -> None:
    check_demonstrations("migres", STEPS, None)
    assert read_demonstrations("migres/extract", None) == ()


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("x", "expected an object with 'input' and 'output'"),
        ({"input": {}}, "expected an object with 'input' and 'output'"),
        ({**GOOD, "input": "x"}, "'input' must be an object of variables, got 'x'"),
        ({**GOOD, "output": None}, "'output' must be an object, the reply, got None"),
        (changed(passages=[{"t": 1}]), "variable 'passages' must be a list of passages"),
        (changed(passages=[{"title": "T", "text": None}]), "variable 'passages' must be a list of passages"),
        (changed(passages="a text"), "variable 'passages' must be a list of passages"),
        (changed(question=None), "variable 'question' must be a text or a list of texts, got None"),
        (changed(question=["a", 1]), "variable 'question' must be a text or a list of texts"),
        (changed(question=5), "variable 'question' must be a text or a list of texts, got 5"),
        (
            changed(questoin="Q?"),
            "variable 'questoin' is unknown; this step shows: original_question, passages, queries, question",
        ),
        ({**GOOD, "input": {"question": "Q?"}}, "variable 'passages' is missing; this step shows: "),
    ],
)
def test_a_record_that_does_not_fit_is_named_by_file_and_line(record: object, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "extract.jsonl", GOOD, record)
    with pytest.raises(PromptError) as caught:
        check_demonstrations("migres", STEPS, str(tmp_path))
    assert str(caught.value).startswith(f"{path}:2: {said}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", ":1: not JSON: "),
        (b"[" * 200_000, ":1: "),
        (b"9" * 5000, ":1: "),
        (b'{"input": "\xff"}', ": not UTF-8 "),
    ],
)
def test_a_line_that_is_no_json_is_named(line: bytes, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "extract.jsonl")
    path.write_bytes(line)
    with pytest.raises(PromptError) as caught:
        check_demonstrations("migres", STEPS, str(tmp_path))
    assert str(caught.value).startswith(f"{path}{said}")


def test_a_line_ends_at_a_line_feed_alone(tmp_path: Path) -> None:
    record = json.dumps(changed(question="one\u2028two\x85three"), ensure_ascii=False)
    (tmp_path / "extract.jsonl").write_text(f"\ufeff{record}\n\n", encoding="utf-8")
    (found,) = read_demonstrations("migres/extract", str(tmp_path))
    assert found.input["question"] == "one\u2028two\x85three"


def test_a_number_may_be_given_and_may_be_left_out(tmp_path: Path) -> None:
    given: dict[str, Any] = {"question": "Q?", "asked": ["Q?"], "information": [], "missing": "m"}
    path = write(
        tmp_path / "generate_queries.jsonl",
        {"input": given, "output": {"queries": ["a"]}},
        {"input": {**given, "max_queries": 3}, "output": {"queries": ["a"]}},
    )
    check_demonstrations("migres", STEPS, str(tmp_path))
    write(path, {"input": {**given, "max_queries": "3"}, "output": {"queries": []}})
    with pytest.raises(PromptError, match="'max_queries' must be a whole number"):
        check_demonstrations("migres", STEPS, str(tmp_path))


def test_an_edited_prompt_may_show_a_number_that_demonstrations_lack(tmp_path: Path) -> None:
    prompt = (prompts_root() / "common" / "generate_queries.md").read_text(encoding="utf-8")
    edited = tmp_path / "common" / "generate_queries.md"
    edited.parent.mkdir()
    edited.write_text(f"{prompt}\nAt most {{{{max_queries}}}} queries.", encoding="utf-8")
    check_demonstrations("migres", STEPS, "multi_hop", [str(tmp_path)])
    variables = {"question": "Q?", "asked": ["Q?"], "information": [], "missing": "m", "max_queries": 7}
    messages = render("migres/generate_queries", variables, folders=[str(tmp_path)], demonstrations="multi_hop")
    assert str(messages[1].text).endswith("At most 7 queries.")


def test_what_no_wire_takes_is_left_out_of_the_reply(tmp_path: Path) -> None:
    write(tmp_path / "extract.jsonl", {**GOOD, "output": {"text": "a\ud800b"}})
    reply = render("migres/extract", GOOD["input"], demonstrations=str(tmp_path))[2]
    assert str(reply.text).encode() == b'{"text": "ab"}'
