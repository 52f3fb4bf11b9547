"""Indexes in other languages: built, opened and searched with one and the same analyzer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hopgraph.state import CorpusError, SettingsError
from hopgraph.tools.retrieval import build_index, index_in_memory, open_index, update_index
from hopgraph.tools.retrieval.corpora import SourceRecord
from hopgraph.tools.text import get_analyzer

PASSAGES = {
    "de": {
        "koeln": "Der Kölner Dom ist eine römisch-katholische Kirche. Seine Türme wurden 1880 vollendet.",
        "elbe": "Die Elbe entspringt im Riesengebirge und mündet bei Cuxhaven in die Nordsee.",
        "bach": "Johann Sebastian Bach wurde am 31. März 1685 in Eisenach geboren und starb in Leipzig.",
    },
    "fr": {
        "eiffel": "La tour Eiffel a été construite par l'ingénieur Gustave Eiffel pour l'Exposition de 1889.",
        "loire": "La Loire est le plus long fleuve de France ; elle prend sa source au mont Gerbier-de-Jonc.",
        "curie": "Marie Curie, née à Varsovie, a reçu deux prix Nobel pour ses travaux sur la radioactivité.",
    },
    "zh": {
        "beijing": "北京是中华人民共和国的首都,位于华北平原。2008年夏季奥运会在北京举行。",
        "libai": "李白是唐代著名诗人,被后人称为“诗仙”。他出生于碎叶城。",
        "changjiang": "长江是亚洲第一长河,发源于青藏高原,在上海注入东海。",
    },
    "ja": {
        "tower": "東京タワーは東京都港区にある電波塔で、1958年に完成した。高さは333メートルである。",
        "soseki": "夏目漱石は日本の小説家である。代表作に『吾輩は猫である』や『坊っちゃん』がある。",
        "fuji": "富士山は静岡県と山梨県にまたがる日本一高い山である。",
    },
}
QUESTIONS = [
    ("de", "Wann wurde der Turm der Kirche in Köln fertig?", "koeln"),
    ("de", "In welches Meer mündet der Fluss, der im Riesengebirge entspringt?", "elbe"),
    ("de", "In welcher Stadt ist Bach gestorben, und wo ist seine Geburt belegt (geborener Eisenacher)?", "bach"),
    ("fr", "Quels ingénieurs ont construit des tours pour l'exposition ?", "eiffel"),
    ("fr", "Quel fleuve français a la plus longue source ?", "loire"),
    ("fr", "Pour quel travail radioactif a-t-elle reçu un prix ?", "curie"),
    ("zh", "哪一年的奥运会在中国首都举行?", "beijing"),
    ("zh", "唐代诗人李白出生在哪里?", "libai"),
    ("zh", "长江的发源地在哪里?", "changjiang"),
    ("ja", "東京タワーはいつ完成しましたか?", "tower"),
    ("ja", "『坊っちゃん』を書いた小説家は誰ですか?", "soseki"),
    ("ja", "日本で一番高い山は何ですか?", "fuji"),
]


def corpus(path: Path, language: str) -> Path:
    lines = (json.dumps({"_id": name, "title": "", "text": text}) for name, text in PASSAGES[language].items())
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("language", PASSAGES)
def test_questions_find_their_passage(language: str, tmp_path: Path) -> None:
    source = corpus(tmp_path / "corpus.jsonl", language)
    build_index(source, tmp_path / "index", language=language)
    index = open_index(tmp_path / "index")
    assert index.analyzer == get_analyzer(language)
    records = [SourceRecord(name, "", text, source, 1) for name, text in PASSAGES[language].items()]
    in_memory = index_in_memory(records, "test", get_analyzer(language))
    for question, expected in (each[1:] for each in QUESTIONS if each[0] == language):
        hits = index.search(question, 3)
        assert hits[0].passage.id == expected
        assert in_memory.search(question, 3) == hits


@pytest.mark.parametrize("language", [None, "de"])
def test_writing_without_spaces_is_found_whatever_language_was_given(tmp_path: Path, language: str | None) -> None:
    build_index(corpus(tmp_path / "corpus.jsonl", "zh"), tmp_path / "index", language=language)
    assert open_index(tmp_path / "index").search("长江的发源地在哪里?", 3)[0].passage.id == "changjiang"


DOCUMENTS = {
    "de.md": "# Halle 4\n\nAm Montag wurde das undichte Ventil der Anlage von den Technikern ausgetauscht.\n",
    "en.md": "# Hall 5\n\nThe windows were cleaned on Tuesday, which the war over the keys had delayed for a week.\n",
    "es.md": "# Acta\n\nLa reunión es cada jueves.\n",
    "zh.md": "# 长江\n\n长江发源于青藏高原,在上海注入东海。\n",
}
IN_OTHER_FORMS = [
    ("Welche Ventile tauschte der Techniker?", "de.md"),
    ("Which window was cleaned in the war?", "en.md"),
    ("war", "en.md"),
    ("¿Qué dia son las reuniones?", "es.md"),
    ("长江注入哪里?", "zh.md"),
]


def test_documents_of_several_languages_are_each_seen_in_their_own(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/en.md").write_text(DOCUMENTS["en.md"])
    build_index(tmp_path / "docs", tmp_path / "index")
    assert open_index(tmp_path / "index").analyzer.language == "auto:english"
    for name, text in DOCUMENTS.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    update_index(tmp_path / "docs", tmp_path / "index")
    index = open_index(tmp_path / "index")
    assert index.analyzer.language == "auto:english,german,spanish"
    for question, source in IN_OTHER_FORMS:
        assert index.search(question, 1)[0].passage.metadata["source"] == source
    build_index(tmp_path / "docs", tmp_path / "anew")
    assert [open_index(tmp_path / "anew").search(question, 4) for question, _ in IN_OTHER_FORMS] == [
        index.search(question, 4) for question, _ in IN_OTHER_FORMS
    ]


def edit(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        content = json.loads((folder / "manifest.json").read_text())
        change(content["analyzer"])
        (folder / "manifest.json").write_text(json.dumps(content))

    return apply


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda analyzer: analyzer.update(stemmer_version="2.2"), r"version of the analyzer \(stemmer_version\)"),
        (lambda analyzer: analyzer.update(language="klingon"), "its analyzer cannot be loaded: language 'klingon'"),
        (lambda analyzer: analyzer.update(language="french"), r"version of the analyzer \(stop_words\)"),
        (lambda analyzer: analyzer.update(extra=1), r"version of the analyzer \(extra\)"),
    ],
)
def test_an_index_of_another_analyzer_is_refused_by_name(
    change: Callable[[dict[str, Any]], Any], reason: str, tmp_path: Path
) -> None:
    build_index(corpus(tmp_path / "corpus.jsonl", "de"), tmp_path / "index", language="de")
    edit(change)(tmp_path / "index")
    with pytest.raises(CorpusError, match=reason) as error:
        open_index(tmp_path / "index")
    assert "rebuild the index with `hopgraph index --replace`" in str(error.value)
    if "extra" in reason:
        update_index(tmp_path / "corpus.jsonl", tmp_path / "index")  # makes all terms anew
        assert open_index(tmp_path / "index").search("Elbe", 1)


def test_an_unknown_language_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="language 'xx' is unknown; known: ar"):
        build_index(tmp_path / "missing.jsonl", tmp_path / "index", language="xx")
    assert list(tmp_path.iterdir()) == []
