"""Links between documents: which passages they connect, and that a search finds what only a link leads to."""

from pathlib import Path

from hopgraph.tools.retrieval import build_index, resolve_retriever, update_index
from hopgraph.tools.retrieval.linked_index import without_links
from hopgraph.tools.retrieval.links import find_links
from hopgraph.tools.retrieval.passage_store import PassageFile, StoredPassage

QUESTION = "How many days of leave does someone who moves house have?"
FILLER = {
    f"notes/{number}.md": f"# Note {number}\n\nHow many people moves someone in {number} days?" for number in range(4)
}


def write_folder(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def linked_files(index: Path) -> set[tuple[str, str]]:
    """Return the ids of passages that are linked with each other, forward."""
    passages = PassageFile(index)
    links = find_links(passages)
    return {
        (passages[row].id, passages[int(each)].id)
        for row in range(len(passages))
        for each in links.forward_targets[links.forward_starts[row] : links.forward_starts[row + 1]]
    }


def test_a_search_finds_what_only_a_link_leads_to(tmp_path: Path) -> None:
    links = {
        "hr/a1.html": "<p>Who moves house has leave by <a href='../law/b%201.html'>the agreement</a>.</p>",
        "hr/a2.html": "<p>Leave</p><a href='/law/b 2'><h3>Who moves house</h3><p>has leave.</p></a>",
        "hr/a3.html": "<table><tr><th>Leave<th>By<tr><td>moves house<td><a href='../law/b 3.html#x'>it</a></table>",
        "hr/a4.md": "Who moves house has leave by [the agreement](<../law/b%204.html> 'agreed').",
        "hr/a5.md": "Who moves house has leave by [[b 5|the agreement]].",
    }
    answers = {
        f"law/b {number}.html": f"<title>{'IVXLC'[number - 1]}</title><p>Four in {number}.</p>"
        for number in range(1, 6)
    }
    folder = write_folder(tmp_path / "docs", {**links, **answers, **FILLER})
    retriever = resolve_retriever(f"bm25:{build_index(folder, tmp_path / 'index').path}")
    found = {str(each.id): each.metadata for each in retriever.invoke(QUESTION, k=20)}
    assert all(found[f"{name}#1"]["linked_from"] for name in answers)
    assert all("hrefs" not in metadata for metadata in found.values())
    plain = {str(each.id) for each in without_links(retriever).invoke(QUESTION, k=50)}
    assert plain.isdisjoint(f"{name}#1" for name in answers)


def test_a_link_is_that_of_the_passage_in_which_it_stands_and_leads_to_the_section_that_it_names(
    tmp_path: Path,
) -> None:
    words = " ".join(f"The rule of number {number} is kept by everyone here." for number in range(20))
    page = f"<p>See <a href='b.md#sick-leave'>the rules</a>. {words}</p><h2><a href='b.md'>Back</a></h2><p>End.</p>"
    away = "<p><a href='https://b.md'>b</a> <a href='mailto:b.md'>b</a> <a href='#b'>b</a> <a href='gone.md'>b</a></p>"
    rules = "# Rules\n\nAll of them.\n\n## Sick leave\n\nSix weeks. [Up](#rules)\n\n## Travel\n\nBy rail."
    folder = write_folder(tmp_path / "docs", {"a.html": page, "b.md": rules, "c.html": away})
    index = build_index(folder, tmp_path / "index").path
    last = max(each.id for each in PassageFile(index) if each.id.startswith("a.html"))
    assert last != "a.html#1"
    assert linked_files(index) == {("a.html#1", "b.md#2"), (last, "b.md#1")}


def test_an_update_follows_links_that_change_and_documents_that_come_and_go(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "docs", {"a.md": "See [it](one/).", "two.md": "Second"})
    index = build_index(folder, tmp_path / "index").path
    assert linked_files(index) == set()
    update_index(write_folder(folder, {"one/index.md": "First"}), index)
    assert linked_files(index) == {("a.md#1", "one/index.md#1")}
    update_index(write_folder(folder, {"a.md": "See [it](two.md)."}), index)
    assert linked_files(index) == {("a.md#1", "two.md#1")}
    (folder / "two.md").unlink()
    update_index(folder, index)
    assert linked_files(index) == set()


def test_documents_with_addresses_are_linked_by_them_and_one_that_everybody_links_to_says_nothing() -> None:
    def page(number: int, href: str) -> StoredPassage:
        own = {"url": f"https://a.org/{number}/", "source": "pages.jsonl"}
        return StoredPassage(str(number), "", f"See [this]({href}).", own)

    def count(*pages: StoredPassage) -> int:
        return len(find_links([*pages]).forward_targets)

    assert count(page(0, "../1"), page(1, "http://[")) == 1
    assert count(page(0, "x"), *(page(number, "https://a.org/0") for number in range(1, 101))) == 100
    assert count(page(0, "x"), *(page(number, "https://a.org/0") for number in range(1, 102))) == 0
