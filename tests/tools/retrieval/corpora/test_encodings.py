# ruff: noqa: RUF001 - texts in other scripts
from pathlib import Path

import pytest

from hopgraph.tools.documents.encodings import guess_encoding
from hopgraph.tools.retrieval.corpora import CorpusReading, open_corpus

WESTERN = [
    "René Dupré was born in Liège.\n",
    "España es un país grande; ¿qué pasó mañana? ¡Ay!",
    "He lives in Tromsø.",
    "Tromsø and Liège are towns; España is a country.",
    "It costs £5.",
    "A naïve idea.",
    "The area is 10 m³ or 5 m², at 10°C ± 3.",
    "“Smart quotes” – and a dash… it’s fine.",
    "Müller",
    "Le café est fermé à midi, où êtes-vous allé ? Voilà l'œuvre. ÇA VA À L'ÉCOLE",
    "São Paulo é a maior cidade; a administração não respondeu.",
    "Håkon åt sju ägg på ön Åland.",
    "København ligger på Sjælland, og Århus på Jylland. Børnene går i skole.",
    "L'università è già là, perché no?",
    "Þórður fór til Reykjavíkur í gær og sá ný hús.",
    "Nestlé, Citroën, Beyoncé, Señor Núñez, Åsa, Škoda: 10 µm",
    "Die Brücke über den Fluß wurde später für Fußgänger geöffnet.",
]
OTHERS = [
    ("cp1250", "Warszawa jest stolicą Polski. Miasto leży nad Wisłą i liczy prawie dwa miliony mieszkańców."),
    ("iso8859_2", "Żółw i źrebię piją wodę. Książka leży na stole, a dziewczyna śpi."),
    ("cp1250", "Karel Čapek byl český spisovatel. Narodil se v Malých Svatoňovicích a zemřel v Praze."),
    ("cp1250", "Slovensko má veľmi pekné hory. Ľudia tam žijú šťastne, kôň beží po lúke."),
    ("cp1250", "Az árvíztűrő tükörfúrógép működik. A kormány tegnap új törvényt fogadott el a főváros lakosságáról."),
    ("cp1250", "Ljubljana leži ob reki Ljubljanici. Občina načrtuje več šol. Učenci že čakajo."),
    (
        "cp1254",
        "İstanbul Türkiye'nin en kalabalık şehridir. Boğaz'ın iki yakasında kurulmuştur, ışıklar yanıyor. "
        "Bugün hava çok güzel, çocuklar bahçede oynuyor. Öğretmen sınıfa girdi ve günaydın dedi.",
    ),
    ("cp1257", "Vilnius yra Lietuvos sostinė ir didžiausias šalies miestas, įsikūręs prie Neries upės."),
    ("cp1251", "Москва является столицей России. Население города составляет более двенадцати миллионов человек."),
    ("koi8_r", "Москва является столицей России. Население города составляет более двенадцати миллионов человек."),
    ("cp1253", "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη της χώρας."),
    ("cp1255", "ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה."),
    ("cp1256", "القاهرة هي عاصمة جمهورية مصر العربية وأكبر مدنها."),
    ("cp932", "灯台守は毎晩、港の明かりをともしました。"),
    ("cp932", "const a = 1; // 配列の長さを計算する"),
    ("euc_jp", "灯台守は毎晩、港の明かりをともしました。"),
    ("gb18030", "北京是中华人民共和国的首都，也是全国的政治中心。"),
    ("big5", "臺北是中華民國的首都，位於臺灣北部。"),
    ("euc_kr", "서울은 대한민국의 수도이자 최대 도시이다."),
    ("koi8_r", "Привет, мир"),
    ("cp1254", "Müşteri adı;Şehir\nAyşe;İzmir"),
    ("cp1255", "שם;עיר\nדוד;חיפה"),
    ("cp874", "สวัสดี ประชุมพรุ่งนี้ที่กรุงเทพ"),
    ("gb18030", "你好，世界。"),
    ("iso8859_7", "Όνομα;Πόλη\nΆννα;Αθήνα"),
    ("utf-16", "René was born in Liège."),
    ("cp500", "The lighthouse keeper comes from Brittany, and lights the lamp at six. " * 8 + "The keeper\x92s lamp."),
    ("cp850", "René Dupré was born in Liège, à côté."),
    ("mac_roman", "René Dupré was born in Liège, and the façade is naïve."),
]


@pytest.mark.parametrize("text", WESTERN)
def test_a_western_text_is_not_taken_for_a_central_european_one(text: str) -> None:
    assert guess_encoding(text.encode("cp1252")) == "cp1252"


@pytest.mark.parametrize(("encoding", "text"), OTHERS)
def test_a_text_in_another_code_page_stays_right(encoding: str, text: str) -> None:
    content = text.encode(encoding)
    guess = guess_encoding(content)
    assert guess
    assert content.decode(guess) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "iso2022_jp", "utf-8"])
@pytest.mark.parametrize(
    "text", ["灯台守は毎晩、港の明かりを\nともしました。", "Москва\nэто столица", "Room 7\nin Kiel"]
)
def test_a_text_without_a_mark_is_read_by_its_bytes(tmp_path: Path, encoding: str, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode(encoding))
    (found,) = open_corpus(tmp_path).records(CorpusReading())
    assert "".join(found.text.split()) == "".join(text.split())


def test_zero_bytes_colors_and_marks_within_a_text_are_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"\x1b[31mERROR\x1b[0m in pump 17\n")
    (tmp_path / "b.txt").write_bytes(b"The pump\0 leaks.\n")
    (tmp_path / "c.md").write_bytes(b"One.\n\n\xef\xbb\xbf# Two\n\nIt rains.\n")
    (tmp_path / "d.jsonl").write_bytes(b'{"text": "It hails."}\n\xef\xbb\xbf{"text": "It snows."}\n')
    found = [each.text for each in open_corpus(tmp_path).records(CorpusReading())]
    assert found == ["ERROR in pump 17", "The pump leaks.", "One.", "Two\n\nIt rains.", "It hails.", "It snows."]


def test_a_file_that_is_not_utf_8_is_noted_once(tmp_path: Path) -> None:
    for name in ("a.txt", "b.md", "c.csv", "d.jsonl"):
        (tmp_path / name).write_bytes('{"text": "René Dupré was born in Liège."}\n'.encode("latin-1") * 2)
    (tmp_path / "e.txt").write_text("René Dupré")
    reading = CorpusReading()
    assert "Liège" in next(open_corpus(tmp_path).records(reading)).text
    reading.notes.clear()
    (tmp_path / "f.txt").write_bytes("Die Universität Zürich und ".encode() + b"\xff")
    *_, last = open_corpus(tmp_path).records(reading)
    assert last.text == "Die Universität Zürich und \ufffd"
    *notes, damaged = reading.notes
    names = ("a.txt", "b.md", "c.csv", "d.jsonl")
    assert notes == [f"{tmp_path / name}: not UTF-8, read as cp1252" for name in names]
    assert damaged == f"{tmp_path / 'f.txt'}: UTF-8 with damaged bytes"
