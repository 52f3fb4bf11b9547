import asyncio
import errno
import gc
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.apps.server.index_upload import IndexingStage, UploadJob, UserCorpus, build_corpus, document_id
from hopgraph.tools.apps.server.page import document_store as module
from hopgraph.tools.apps.server.page.document_store import UserDocuments, remove_old_files
from hopgraph.tools.retrieval import resolve_retriever

PARAGRAPHS = [
    f"Paragraph {number} tells of the harbour of Bergen. " + "Ships come and go there. " * 12 for number in range(9)
]


async def index_here(job: UploadJob) -> AsyncGenerator[IndexingStage | UserCorpus]:
    """Index in this process, as a new one takes seconds to start."""
    stages: list[IndexingStage] = []
    corpus = await asyncio.to_thread(build_corpus, job, stages.append)
    for stage in stages:
        yield stage
    yield corpus


@pytest.fixture
def documents_in_process(tmp_path: Path) -> UserDocuments:
    return UserDocuments(tmp_path / "kept" / "documents", 1_000_000)


@pytest.fixture
def documents(documents_in_process: UserDocuments, monkeypatch: pytest.MonkeyPatch) -> UserDocuments:
    monkeypatch.setattr(module, "index_in_process", index_here)
    return documents_in_process


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    folder = tmp_path / "uploads"
    folder.mkdir()
    return folder


def written(folder: Path, **files: str | bytes) -> list[Path]:
    """Write files; `__` in a name stands for its dot."""
    paths: list[Path] = []
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        paths.append(path)
    return paths


async def added(
    documents: UserDocuments, user: str, files: Sequence[Path], name: str = ""
) -> tuple[list[IndexingStage], UserCorpus]:
    stages: list[IndexingStage] = []
    async for each in documents.index(user, files, name=name):
        if not isinstance(each, IndexingStage):
            return stages, each
        stages.append(each)
    raise AssertionError("no corpus came")


def kept_in(folder: Path) -> list[str]:
    return sorted(name for _, _, names in os.walk(folder) for name in names)  # files that vanish meanwhile are ignored


@pytest.mark.slow
async def test_an_uploaded_text_is_split_into_passages(documents_in_process: UserDocuments, uploads: Path) -> None:
    files = written(uploads, harbour__txt="\n\n".join(PARAGRAPHS))
    stages, corpus = await added(documents_in_process, "anna", files)
    assert (corpus["name"], corpus["files"], corpus["skipped"]) == ("harbour.txt", ["harbour.txt"], 0)
    assert 4 <= corpus["passages"] <= 9
    assert stages[-1].name == "linking"
    order = ["reading", "indexing", "scoring", "saving", "linking"]
    told = [order.index(stage.name) for stage in stages]
    assert told == sorted(told)
    assert set(told) == {0, 1, 2, 3, 4}
    retriever = resolve_retriever(documents_in_process.spec("anna", corpus["id"]))
    found = retriever.invoke("harbour of Bergen paragraph 7")
    assert found[0].metadata["title"] == "harbour"
    assert any("Paragraph 7" in each.page_content for each in found)
    assert await documents_in_process.list_for("anna") == [corpus]


async def test_files_of_several_formats_become_one_corpus(documents: UserDocuments, uploads: Path) -> None:
    line = {"_id": "1", "title": "Rain", "text": "Rain falls on the western coast."}
    asked = {"question": "q?", "answer": "a", "context": [["Snow", ["Snow falls in the hills.", "It melts."]]]}
    files = written(
        uploads,
        a__jsonl=json.dumps(line) + "\n",
        b__jsonl=json.dumps({**line, "text": "Hail is rain that froze."}),
        c__json=json.dumps([asked]),
        d__md="# Weather\n\nFog hides the fjord.\n",
        e__tsv="id\ttext\ttitle\n1\tWind blows from the sea.\tWind\n",
    )
    _, corpus = await added(documents, "anna", files, "  my\nweather ")
    assert (corpus["name"], corpus["passages"]) == ("my weather", 5)
    retriever = resolve_retriever(documents.spec("anna", corpus["id"]))
    for asked_for, title in {"hail": "Rain", "snow": "Snow", "fog": "Weather", "wind": "Wind"}.items():
        assert retriever.invoke(asked_for)[0].metadata["title"] == title
    ids = {each.id for each in retriever.invoke("rain falls fog wind hail snow")}
    assert {"a.jsonl#1", "b.jsonl#1", "d.md#1", "e.tsv#1"} <= ids


@pytest.mark.slow
@pytest.mark.parametrize("quota", [{"quota_files": 2}, {"quota_bytes": 40_000}])
async def test_a_users_documents_are_limited(documents: UserDocuments, uploads: Path, quota: dict[str, int]) -> None:
    small = replace(documents, **quota)
    files = written(uploads, a__txt="Rain.", b__txt="Snow. " * 2_000)
    _, corpus = await added(small, "anna", files)
    with pytest.raises(SettingsError, match=r"^your documents are limited to .* files and .* delete some first"):
        await added(small, "anna", files[1:])
    await added(small, "bob", files[1:])
    await small.delete("anna", corpus["id"])
    await added(small, "anna", files[1:])


async def test_two_users_are_apart(documents: UserDocuments, uploads: Path) -> None:
    files = written(uploads, a__txt="Rain.")
    _, corpus = await added(documents, "anna", files)
    for other in ("bob", "Anna", "ann"):
        assert await documents.list_for(other) == []
        with pytest.raises(SettingsError, match="no longer exist"):
            documents.spec(other, corpus["id"])
        with pytest.raises(SettingsError, match="no longer exist"):
            await documents.delete(other, corpus["id"])
    assert len(await documents.list_for("anna")) == 1


@pytest.mark.parametrize("user", ["", "..", "../anna", "a/b", "a\\b", "/etc", "a:b", "a\0"])
async def test_a_user_name_cannot_escape_the_folder(documents: UserDocuments, uploads: Path, user: str) -> None:
    with pytest.raises(SettingsError, match="is malformed"):
        await documents.list_for(user)
    with pytest.raises(SettingsError, match="is malformed"):
        await added(documents, user, written(uploads, a__txt="Rain."))


async def test_a_corpus_id_cannot_escape_the_folder(documents: UserDocuments, uploads: Path) -> None:
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain."))
    for key in ("", ".", "..", f"../{corpus['id']}", f"{corpus['id']}/../{corpus['id']}", corpus["id"].upper() + "\n"):
        with pytest.raises(SettingsError, match="no longer exist"):
            documents.spec("anna", key)
        with pytest.raises(SettingsError, match="no longer exist"):
            await documents.delete("anna", key)
    assert len(await documents.list_for("anna")) == 1


async def test_a_file_name_is_shown_but_never_used_as_a_path(documents: UserDocuments, uploads: Path) -> None:
    evil = uploads / "..\\..\\<img src=x>\x1b[31m\u202e$(id);.txt"
    evil.write_text("Rain falls.")
    long = uploads / ("ä" * 100 + ".txt")
    long.write_text("Snow falls.")
    _, corpus = await added(documents, "anna", [evil, long])
    assert corpus["files"][0] == "..\\..\\<img src=x>$(id);.txt"
    assert len(corpus["files"][1]) == 100
    inside = documents.folder.resolve()
    assert kept_in(inside.parent) == kept_in(inside)
    assert all("img" not in each and "ä" not in each for each in kept_in(inside))


async def test_two_files_with_the_same_name_are_both_indexed(documents: UserDocuments, uploads: Path) -> None:
    (uploads / "other").mkdir()
    files = written(uploads, a__txt="Rain.") + written(uploads / "other", a__txt="Snow.")
    _, corpus = await added(documents, "anna", files)
    assert corpus["files"] == ["a.txt", "a.txt (2)"]
    assert corpus["passages"] == 2


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"b__exe": b"MZ\0"}, r"^b\.exe: 1 file not read: \.exe ×1; upload files of "),
        ({"b__txt": ""}, r"^b\.txt: the file is empty"),
        ({"b__md": "<!-- Only a comment -->\n"}, r"^b\.md: it contains no text"),
        ({"b__txt": b"\xff\xfe\x00R\n"}, r"^b\.txt: it is neither UTF-8 nor text in another"),
        ({"b__jsonl": "no JSON"}, r"^b\.jsonl: unknown format: it does not start like JSON"),
        ({"!__txt": "!!! ???"}, r"no passage has a searchable word"),
        ({"b__txt": "x" * 1_000_001}, "upload at most 1,000,000 at once"),
        ({}, "no file was uploaded"),
    ],
)
async def test_unreadable_files_are_listed_and_leave_nothing(
    documents: UserDocuments, uploads: Path, files: dict[str, str | bytes], said: str
) -> None:
    with pytest.raises(CorpusError, match=said) as raised:
        await added(documents, "anna", written(uploads, **files))
    assert "\n" not in str(raised.value)
    assert str(uploads.parent) not in str(raised.value)
    assert await documents.list_for("anna") == []
    assert kept_in(documents.folder) == []


async def test_bad_files_are_listed_and_the_others_indexed(documents: UserDocuments, uploads: Path) -> None:
    bad = {
        "b__exe": b"MZ\0",
        "c__txt": "",
        "d__md": "<!-- Only a comment -->\n",
        "e__pdf": b"%PDF-1.4 broken",
        "f__json": '[{"_id": "1", "text": "Hail falls."}, {"_id": ',
    }
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain falls.", **bad))
    assert (corpus["files"], corpus["passages"], corpus["skipped"]) == (["a.txt"], 1, 5)
    named = [each.split(":")[0] for each in corpus["first_skipped"]]
    assert named == ["b.exe", "c.txt", "d.md", "e.pdf", "f.json"]
    assert str(uploads) not in str(corpus)
    # An unreadable file does not replace a good one with the same name.
    second = await changed(documents, corpus, add=written(uploads, a__txt=b"\xff\xfe\x00R\n", g__txt="Snow falls."))
    assert (second["files"], second["skipped"]) == (["a.txt", "g.txt"], 1)
    retriever = resolve_retriever(documents.spec("anna", corpus["id"]))
    assert {each.id for each in retriever.invoke("rain snow falls hail")} == {"a.txt#1", "g.txt#1"}


async def test_the_result_of_each_file_is_reported(documents: UserDocuments, uploads: Path) -> None:
    files = written(uploads, good__txt="\n\n".join(PARAGRAPHS), bad__jsonl="{]", empty__txt="", blank__txt=" \n ")
    stages, corpus = await added(documents, "anna", files)
    ends = {each.file: (each.passages, each.problem) for each in stages if each.file and each.passages is not None}
    assert ends["good.txt"] == (corpus["passages"], "")
    assert ends["empty.txt"] == (0, "the file is empty")
    for name in ("bad.jsonl", "blank.txt"):
        passages, problem = ends[name]
        assert passages == 0
        assert name in problem
        assert str(uploads) not in problem


async def test_a_link_is_not_followed(documents: UserDocuments, uploads: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The password is rain.")
    (uploads / "a.txt").symlink_to(secret)
    os.mkfifo(uploads / "b.txt")
    for name in ("a.txt", "b.txt", "missing.txt"):
        with pytest.raises(CorpusError, match=f"^{name}: "):
            await added(documents, "anna", [uploads / name])
    assert kept_in(documents.folder) == []


async def test_unusable_records_are_counted_and_reported(documents: UserDocuments, uploads: Path) -> None:
    good = json.dumps({"_id": "1", "text": "Rain falls."})
    files = written(
        uploads, a__jsonl=f'{good}\n{good}\nno JSON\n{{"_id": "2", "text": " "}}\n{{"_id": "3", "text": "\\ud800"}}\n'
    )
    _, corpus = await added(documents, "anna", files)
    assert (corpus["passages"], corpus["skipped"]) == (1, 4)
    assert [each.split(": ")[0] for each in corpus["first_skipped"]] == [
        "a.jsonl:2",
        "a.jsonl:3",
        "a.jsonl:4",
        "a.jsonl:5",
    ]


async def changed(
    documents: UserDocuments, corpus: UserCorpus, add: Sequence[Path] = (), remove: Sequence[str] = ()
) -> UserCorpus:
    done = [
        each
        async for each in documents.index("anna", add, corpus["id"], remove=remove)
        if not isinstance(each, IndexingStage)
    ]
    return done[0]


async def test_files_are_added_to_a_corpus_replaced_and_removed(documents: UserDocuments, uploads: Path) -> None:
    line = json.dumps({"_id": "1", "title": "", "text": "Hail is frozen rain."}) + "\n"
    _, first = await added(documents, "anna", written(uploads, a__jsonl=line, b__md="Snow falls."), "Weather")
    more = written(uploads, c__jsonl=line.replace("Hail", "Sleet"), b__md="Wind blows.\n\n# Gales\n\nGales howl.")
    second = await changed(documents, first, add=more)
    assert {**second, "passages": 0} == {**first, "files": ["a.jsonl", "c.jsonl", "b.md"], "passages": 0}
    assert second["passages"] == 4
    retriever = resolve_retriever(documents.spec("anna", first["id"]))
    assert {each.id for each in retriever.invoke("hail sleet frozen")} == {"a.jsonl#1", "c.jsonl#1"}
    assert (retriever.invoke("snow"), len(retriever.invoke("wind gales"))) == ([], 2)
    third = await changed(documents, second, add=written(uploads, d__txt="Fog hides."), remove=["a.jsonl", "b.md"])
    assert (third["files"], third["passages"]) == (["c.jsonl", "d.txt"], 2)
    assert await documents.list_for("anna") == [third]
    assert (await changed(documents, third, remove=["c.jsonl"]))["files"] == ["d.txt"]
    with pytest.raises(SettingsError, match="that would remove all files; delete the documents instead"):
        await changed(documents, third, remove=["d.txt"])
    assert [name for name in kept_in(documents.folder) if name.endswith("jsonl")] == ["passages.jsonl"]
    with pytest.raises(SettingsError, match="no longer exist"):
        await anext(documents.index("bob", more, first["id"]))


async def test_a_failed_change_changes_nothing(
    documents: UserDocuments, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain."))
    before = kept_in(documents.folder)
    with pytest.raises(CorpusError, match="b"):
        await changed(documents, corpus, add=written(uploads, b__jsonl="no JSON\n"))
    with pytest.raises(SettingsError, match="your documents are limited to 1 files"):
        await changed(replace(documents, quota_files=1), corpus, add=written(uploads, c__txt="Snow."))
    assert await documents.list_for("anna") == [corpus]
    assert resolve_retriever(documents.spec("anna", corpus["id"])).invoke("rain")
    assert kept_in(documents.folder) == before


async def test_deleting_a_corpus_removes_all_its_files(documents: UserDocuments, uploads: Path) -> None:
    files = written(uploads, a__txt="Rain.")
    _, corpus = await added(documents, "anna", files)
    await documents.delete("anna", corpus["id"])
    assert await documents.list_for("anna") == []
    assert kept_in(documents.folder) == []
    assert files[0].exists()
    with pytest.raises(SettingsError, match="no longer exist"):
        documents.spec("anna", corpus["id"])


@pytest.mark.slow
async def test_a_cancelled_change_changes_nothing(documents_in_process: UserDocuments, uploads: Path) -> None:
    documents = documents_in_process
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain."))
    before = kept_in(documents.folder)
    long = written(uploads, c__txt=" ".join(f"Snow fell on day {n}." for n in range(40_000)))  # takes a while
    async with aclosing(documents.index("anna", long, corpus["id"])) as first:
        await anext(first)
        with pytest.raises(SettingsError, match="are already being changed"):
            await changed(documents, corpus, remove=["none"])
        with pytest.raises(SettingsError, match="are already being changed"):
            await documents.delete("anna", corpus["id"])
    assert await documents.list_for("anna") == [corpus]
    assert kept_in(documents.folder) == before


WRITES = frozenset({"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"})


def end_at(number: int, within: Path, how: Callable[[], None]) -> Iterator[int]:
    """Call a function at the n-th change of a file in a folder; return the countdown."""
    left = count(number, -1)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        writes = event in WRITES and str(within) in str(given[0]) and (event != "open" or given[2] & os.O_CREAT)
        if writes and next(left) == 0:
            how()

    sys.addaudithook(hook)
    return left


def build_and_end_at(number: int, job: UploadJob, within: Path, how: Callable[[], None]) -> int:
    """Return the status of a process that makes a corpus and ends at a file change; 0 if it finished before."""
    if not (child := os.fork()):
        try:
            left = end_at(number, within, how)
            build_corpus(job, lambda _: None)
            os._exit(0 if next(left) >= 0 else 1)
        except (OSError, CorpusError):
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def full_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
@pytest.mark.parametrize("how", [full_disk, partial(os._exit, 9)], ids=["full", "killed"])
async def test_a_change_is_atomic_wherever_its_process_ends(
    documents: UserDocuments, uploads: Path, how: Callable[[], None]
) -> None:
    """The record, the files and the index agree, wherever the process that makes the change ends."""
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain.", b__txt="Hail."))
    (folder,) = documents.folder.glob("*/*")
    new = UploadJob(
        folder=folder,
        before=corpus,
        files={path.name: path for path in written(uploads, b__txt="Snow.", c__txt="Fog.")},
        unread=[],
        removed=["a.txt"],
        language=None,
        max_seconds=60,
        max_memory=1 << 32,
    )
    number, ended, texts = 0, 1, set[str]()
    while ended:
        ended = build_and_end_at(number, new, documents.folder, how)
        await documents.recover()
        (found,) = await documents.list_for("anna")
        hits = resolve_retriever(documents.spec("anna", corpus["id"])).invoke("rain hail snow fog")
        stored = [documents.file("anna", corpus["id"], document_id(name)) for name in found["files"]]
        texts = {each[0].read_text() for each in stored if each}
        assert {each.page_content for each in hits} == texts
        assert texts in ({"Rain.", "Hail."}, {"Snow.", "Fog."})
        assert not list(folder.parent.glob(".*/lock"))
        number += 1
    assert number > 20
    assert texts == {"Snow.", "Fog."}


async def test_the_number_of_corpora_per_user_is_limited(
    documents: UserDocuments, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CORPORA", 1)
    files = written(uploads, a__txt="Rain.")
    _, made = await added(documents, "anna", files)
    with pytest.raises(SettingsError, match="delete one"):
        await added(documents, "anna", files)
    await documents.delete("anna", made["id"])
    await added(documents, "anna", files)
    await added(documents, "bob", files)


async def test_remains_of_a_killed_upload_are_ignored_and_later_removed(
    documents: UserDocuments, uploads: Path
) -> None:
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain."))
    of_user = next(documents.folder.iterdir())
    old, young = of_user / ("0" * 12), of_user / ("1" * 12)
    for folder in (old, young):
        folder.mkdir()
        (folder / "passages.jsonl").write_text("{}")
    os.utime(old, (1, 1))
    (young / "corpus.json").write_text("{}")
    assert await documents.list_for("anna") == [corpus]
    await added(documents, "anna", written(uploads, a__txt="Snow."))
    assert not old.exists()
    assert young.exists()


async def test_concurrent_uploads_wait_for_each_other(documents: UserDocuments, uploads: Path) -> None:
    files = written(uploads, a__txt="Rain.")
    made = await asyncio.gather(*(added(documents, "anna", files) for _ in range(3)))
    assert len({corpus["id"] for _, corpus in made}) == 3
    assert any(stages[0].name == "waiting" for stages, _ in made)
    assert len(await documents.list_for("anna")) == 3


async def test_running_uploads_count_towards_the_limit(
    documents: UserDocuments, uploads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_CORPORA", 1)
    files = written(uploads, a__txt="Rain.")
    ended = await asyncio.gather(*(added(documents, "anna", files) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(each, SettingsError) for each in ended) == 7
    assert len(await documents.list_for("anna")) == 1


async def test_a_deleted_corpus_is_closed(documents: UserDocuments, uploads: Path) -> None:
    _, corpus = await added(documents, "anna", written(uploads, a__txt="Rain."))
    found = ref(resolve_retriever(documents.spec("anna", corpus["id"])))
    await documents.delete("anna", corpus["id"])
    gc.collect()
    assert found() is None


async def test_a_language_can_be_chosen(documents: UserDocuments, uploads: Path) -> None:
    files = written(uploads, a__txt="Die Häuser stehen am Hafen.")
    async for each in documents.index("anna", files, language="german"):
        if not isinstance(each, IndexingStage):
            spec = documents.spec("anna", each["id"])
            assert resolve_retriever(spec).invoke("Haus")


async def test_an_unknown_language_is_refused(documents: UserDocuments, uploads: Path) -> None:
    files = written(uploads, a__txt="Rain.")
    with pytest.raises(SettingsError, match="language 'klingon' is unknown"):
        async for _ in documents.index("anna", files, language="klingon"):
            pass
    assert kept_in(documents.folder) == []


def test_old_uploads_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "uploads"
    (folder / "a").mkdir(parents=True)
    old, new, part = folder / "a" / "old.txt", folder / "new.txt", folder / "tmp1234"
    for path in (old, new, part):
        path.write_text("x")
    for path in (old, part):
        os.utime(path, (time.time() - 100, time.time() - 100))
    remove_old_files(folder, 50)
    assert [path.name for path in folder.iterdir()] == ["new.txt"]
    remove_old_files(tmp_path / "none", 50)
