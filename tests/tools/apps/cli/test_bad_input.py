"""Every kind of bad input gets one line on standard error, the right exit code, and nothing on standard output
that a script would take for an answer."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

Run = Callable[..., Any]
README = str(ROOT / "README.md")


def assert_one_line(ran: Any, code: int, *parts: str) -> None:
    assert ran.code == code, ran
    assert ran.err.startswith("hopgraph: ")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith("\n")
    assert "Traceback" not in ran.err
    for part in parts:
        assert part in ran.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["ask", ""], ["question is empty"]),
        (["ask", " \n\t "], ["question is empty"]),
        (["ask", "\u200b\x00"], ["question is empty"]),
        (["ask", "x" * 100_000], ["100,000 characters", "10,000"]),
        (["ask", "broken \udcff bytes"], ["not valid UTF-8"]),
        (["ask", "q", "--method", "magic"], ["'magic'", "migres"]),
        (["ask", "q", "--model", "magic"], ["'magic'", "offline:extractive"]),
        (["ask", "q", "--model", "offline:magic"], ["offline:magic", "offline:extractive"]),
        (["ask", "q", "--model", "openai:gpt-4.1-mini"], ["OPENAI_API_KEY"]),
        (["ask", "q", "--model", "openai:m?api_key=sk-1234567890"], ["api_key"]),
        (["ask", "q", "--corpus", "magic:x"], ["'magic:x'", "bm25:DIR"]),
        (["ask", "q", "--corpus", ""], ["corpus is empty"]),
        (["ask", "q", "--corpus", " "], ["corpus is empty"]),
        (["ask", "q", "--corpus", "bm25:"], ["'bm25:'", "folder's name is missing"]),
        (["ask", "q", "--set", "demonstrations=multihop"], ["'multihop'", "multi_hop"]),
        (["ask", "q", "--preset", "magic"], ["'magic'", "multi_hop"]),
        (["ask", "q", "--set", "magic=1"], ["'magic'"]),
        (["ask", "q", "--set", "max_iterations=99"], ["'max_iterations'", "20"]),
        (["ask", "q", "--set", "reranker=magic"], ["'magic'", "lexical"]),
        (["ask", "q", "--json", "--quiet"], ["are mutually exclusive; see hopgraph ask --help\n"]),
        (["ask"], ["QUESTION", "; see hopgraph ask --help\n"]),
        (["ask", "Who", "painted", "Guernica"], ["(painted Guernica); put the question in quotes; see "]),
        (["ask", "q", "--magic"], ["--magic"]),
        (["magic"], ["magic", "; see hopgraph --help\n"]),
        (["methods", "magic"], ["'magic'"]),
        (["draw", "magic"], ["'magic'"]),
        (["draw", "migres", "--format", "gif"], ["gif", "svg"]),
        (["ask", "q", "--set", "review_queries=true"], ["--review"]),
        (["ask", "q", "--review=foo"], ["'--review': 'foo' is not one of 'queries', 'evidence', 'all'; see"]),
        (["index", "x"], ["Give --out DIR or --to SPEC"]),
        (["index", "x", "--out", "x", "--to", "milvus:x.db#x"], ["Give --out DIR or --to SPEC"]),
        (["index", "x", "--out", "x", "--watch", "--dry-run"], ["--watch"]),
        (["index", README, "--to", "milvus:lite#foxes"], ["a local Milvus file must end in .db"]),
        (["index", README, "--out", "x", "--language", "tlh"], ["language 'tlh' is unknown; known: ar"]),
        (["chat", "x", "--corpus", "sample"], ["DOCUMENTS or --corpus, not both"]),
        *((["serve", "--port", port], ["--port"]) for port in ("0", "70000", "x")),
        (["calibrate", "x", "--corpus", "sample", "--reranker", "magic"], ["'magic'"]),
        (["calibrate", "x"], ["--corpus"]),
    ],
)
def test_wrong_usage_is_reported_in_one_line_with_code_2(arguments: list[str], parts: list[str], run: Run) -> None:
    assert_one_line(run(*arguments), 2, *parts)


def test_bad_input_leaves_json_output_empty(run: Run) -> None:
    for arguments in (["", "--json"], ["q", "--json", "--corpus", "/no/such/index"]):
        assert run("ask", *arguments).out == ""


def test_an_invalid_environment_variable_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPGRAPH_MAX_ITERATIONS", "many")
    assert_one_line(run("ask", "q"), 2, "HOPGRAPH_MAX_ITERATIONS", "'many'")


def test_an_unreachable_server_is_reported_without_the_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    ran = run("ask", "q", "--model", "openai:m?base_url=http://127.0.0.1:9/v1", "--set", "request_retries=0")
    assert_one_line(ran, 1, "http://127.0.0.1:9/v1")
    assert "very-secret" not in ran.out + ran.err


@pytest.fixture
def index(run: Run, tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("Cobalt is a metal. Riga is a city.", encoding="utf-8")
    assert run("index", str(tmp_path / "a.md"), "--out", str(tmp_path / "index")).code == 0
    return tmp_path / "index"


def test_a_missing_corpus(run: Run, tmp_path: Path) -> None:
    assert_one_line(run("ask", "q", "--corpus", str(tmp_path / "none")), 1, str(tmp_path / "none"), "hopgraph index")


def test_a_folder_that_is_not_an_index(run: Run, tmp_path: Path) -> None:
    assert_one_line(run("ask", "q", "--corpus", str(tmp_path)), 1, str(tmp_path), "manifest.json")


def test_a_corrupt_manifest(run: Run, index: Path) -> None:
    (index / "manifest.json").write_bytes(b'{"kind": "hopgraph-in\xff')
    assert_one_line(run("ask", "q", "--corpus", str(index)), 1, str(index))


def test_an_index_of_another_version(run: Run, index: Path) -> None:
    manifest = json.loads((index / "manifest.json").read_text(encoding="utf-8"))
    (index / "manifest.json").write_text(json.dumps({**manifest, "format_version": 99}), encoding="utf-8")
    assert_one_line(run("ask", "q", "--corpus", str(index)), 1, "another version", "format_version", "hopgraph index")


def test_unreadable_sources_leave_an_index_unchanged(run: Run, index: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in index.rglob("*") if path.is_file()}
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "bytes.txt").write_bytes(bytes(range(256)) * 20)
    twice = tmp_path / "twice.jsonl"
    twice.write_text('{"_id": "1", "text": "one"}\n{"_id": "1", "text": "two"}\n', encoding="utf-8")
    for source, parts in (
        (empty, ["no text"]),
        (tmp_path / "none", ["no such file"]),
        (tmp_path / "bytes.txt", ["bytes.txt: it is not text"]),
        (twice, ["twice.jsonl:2", "'1'"]),
    ):
        assert_one_line(run("index", str(source), "--out", str(index), "--replace"), 1, *parts)
        assert_one_line(run("index", str(source), "--out", str(index), "--add"), 1, *parts)
    assert_one_line(run("index", str(twice), "--out", str(index)), 1, "--add adds to it, --replace rebuilds it")
    assert run("index", str(twice), "--out", str(index), "--replace", "--dry-run").code == 2
    assert {path: path.read_bytes() for path in index.rglob("*") if path.is_file()} == before


def test_skipped_records_are_counted_and_listed(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "corpus.jsonl"
    source.write_text('{"_id": "1", "text": "one word"}\nnot json\n{"_id": "1", "text": "two"}\n', encoding="utf-8")
    ran = run("index", str(source), "--out", str(tmp_path / "i"), "--skip-invalid")
    assert ran.code == 0
    assert "Indexed 1 passage (" in ran.out
    assert "2 invalid files or records skipped" in " ".join(ran.out.split())
    skipped = "".join(ran.err.split())  # the terminal wraps a long path
    assert f"skipped{source}:2" in skipped
    assert f"skipped{source}:3" in skipped


def test_skipped_files_are_reported_at_each_update(run: Run, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bad.json").write_text('{"a": ', encoding="utf-8")
    (tmp_path / "docs" / "good.txt").write_bytes("René was born in Liège.".encode("latin-1"))
    command = ["index", str(tmp_path / "docs"), "--out", str(tmp_path / "docs" / "index")]
    first, again = run(*command), run(*command)
    noted = f"{tmp_path}/docs/good.txt: not UTF-8, read as cp1252"
    assert noted.replace(" ", "") in "".join(first.err.split())
    assert "1 invalid file or record skipped" in " ".join(first.out.split())
    said = " ".join(again.out.split())
    assert "0 files added, 0 changed, 0 removed, 2 unchanged (1 passage, 1 before)" in said
    assert "1 invalid file or record skipped" in said
    assert f"skipped{tmp_path}/docs/bad.json:notusableJSON" in "".join(again.err.split())


@pytest.mark.parametrize("command", ["index", "prompts", "draw"])
def test_an_existing_output_path_is_refused(command: str, run: Run, index: Path, tmp_path: Path) -> None:
    del index
    in_the_way = tmp_path / "in-the-way"
    in_the_way.write_text("precious", encoding="utf-8")
    arguments = {
        "index": [str(tmp_path / "a.md"), "--out", str(in_the_way)],
        "prompts": ["migres", "--out", str(in_the_way)],
        "draw": ["migres", "--out", str(in_the_way / "deeper.svg")],
    }
    assert_one_line(run(command, *arguments[command]), 1, str(in_the_way))
    assert in_the_way.read_text(encoding="utf-8") == "precious"


def test_a_drawing_does_not_replace_a_folder(run: Run, tmp_path: Path) -> None:
    assert_one_line(run("draw", "migres", "--out", str(tmp_path)), 1, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_edited_prompts_are_not_overwritten_by_default(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "prompts"
    assert run("prompts", "migres", "--out", str(out)).code == 0
    edited = out / "common" / "decide.md"
    edited.write_text("edited", encoding="utf-8")
    shutil.rmtree(out / "migres")
    assert_one_line(run("prompts", "migres", "--out", str(out)), 2, "--force")
    assert edited.read_text(encoding="utf-8") == "edited"
    assert not (out / "migres").exists()
    assert run("prompts", "migres", "--out", str(out), "--force").code == 0
    assert edited.read_text(encoding="utf-8") != "edited"


def test_an_edited_prompt_with_an_unknown_variable_is_reported(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "prompts"
    run("prompts", "migres", "--out", str(out))
    decide = out / "common" / "decide.md"
    decide.write_text(decide.read_text(encoding="utf-8") + "{{magic}}", encoding="utf-8")
    assert_one_line(run("ask", "q", "--set", f"prompts_dir={out}"), 1, "decide.md", "'magic'")


def test_a_prompt_file_with_an_unknown_name_is_refused(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "prompts"
    run("prompts", "migres", "--out", str(out))
    (out / "common" / "decide.md").rename(out / "common" / "decid.md")
    assert_one_line(run("ask", "q", "--set", f"prompts_dir={out}"), 2, "decid.md", "did you mean 'decide.md'?")


def test_unused_demonstrations_are_refused(run: Run, tmp_path: Path) -> None:
    run("prompts", "migres", "--out", str(tmp_path))
    copied = tmp_path / "migres"
    assert_one_line(run("ask", "q", "--set", f"demonstrations={copied}"), 2, "decide.multi_hop.jsonl", "prompts_dir")


def test_damaged_passages_are_reported_in_one_line(run: Run, index: Path) -> None:
    passages = index / "passages.jsonl"
    passages.write_bytes(b"\xff" * len(passages.read_bytes()))
    assert_one_line(run("ask", "What is cobalt?", "--corpus", str(index)), 1, str(passages), "hopgraph index")


def test_calibration_refuses_invalid_settings(run: Run, tmp_path: Path) -> None:
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"question": "Where is Riga?", "answer": ["x"]}\n', encoding="utf-8")
    assert_one_line(run("calibrate", str(tmp_path / "none"), "--corpus", "sample"), 1, str(tmp_path / "none"))
    assert_one_line(run("calibrate", str(questions), "--corpus", str(tmp_path / "none")), 1, str(tmp_path / "none"))
    assert_one_line(run("calibrate", str(questions), "--corpus", "sample", "--keep", "2"), 2, "keep")
    questions.write_text("[]", encoding="utf-8")
    ran = run("calibrate", str(questions), "--corpus", "sample")
    assert ran.code in {1, 2}
    assert ran.err.count("\n") == 1
