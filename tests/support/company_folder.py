"""A fictitious company's folder with files in 22 formats, and questions that one of them answers."""

import json
from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

from support.made_documents import Part, draw_pdf, make_pdf, write_document


class Question(NamedTuple):
    """A question, the file that answers it, and the content of the row or sentence there."""

    text: str
    source: str
    """Empty for a question that no file answers."""
    said: tuple[str, ...]
    """The answer, and of a row the names of its columns that tell what it is."""


QUESTIONS = [
    Question("What is the phone number of customer 007123?", "sales/customers.xlsx", ("0049 431 22330", "Phone")),
    Question("How many NP-440 were sold in 2024?", "sales/units.xlsx", ("NP-440", "318", "2024 Units")),
    Question(
        "When does the contract with Borealis Shipping end?", "sales/customers.xlsx", ("31.12.2027", "Contract end")
    ),
    Question("Was kostet die Wartung bei Müller & Söhne?", "verkauf/wartung.csv", ("1.250,00 €", "Betrag")),
    Question("Which rate applies to Namibia?", "finance/rates.csv", ("0.15", "NA", "Rate")),
    Question("Who is on call in week 42?", "it/on_call.tsv", ("Signe Dahl", "Engineer")),
    Question("How many days of leave does grade B get?", "hr/handbook.docx", ("30", "Days")),
    Question("What is the maximum pressure of the NP-440?", "products/catalogue.pdf", ("45 bar", "Pressure")),
    Question("What was the churn in the third quarter?", "finance/results.pptx", ("3.4 %", "Churn")),
    Question("What does the error code E-17 mean?", "it/errors.html", ("Pump runs dry", "Meaning")),
    Question("Which command restarts the billing service?", "it/runbook.md", ("restart billing", "Command")),
    Question("Bis wann muss Mara das Angebot schreiben?", "verkauf/protokoll.odt", ("7. April", "Bis")),
    Question("Until when does the lease of the Kiel warehouse run?", "legal/lease.pdf", ("30 June 2031",)),
    Question("Which discount did Jörg offer to Borealis?", "mail/offer.eml", ("12 percent",)),
    Question("Which share of the pumps failed in the endurance test?", "lab/endurance.ipynb", ("2.75",)),
    Question("Who is assigned to ticket T-17?", "it/tickets.json", ("Udo Behr",)),
    Question("Why did the customer in Bergen send the seal kit back?", "sales/feedback.jsonl", ("too small",)),
    Question("Which port does the invoice service listen on?", "it/services.yaml", ("8081",)),
    Question("What is the value of max retry count?", "it/payments.py", ("5",)),
    Question("On which node was the disk full?", "it/server.log", ("node7",)),
    Question("In which room does Udo Behr sit?", "hr/rooms.txt", ("C-17", "Room")),
    Question("Which color does the emergency lever have?", "products/manual.epub", ("orange",)),
    Question("What was the revenue in May 2024?", "reports/report_05.md", ("1685 thousand",)),
    Question("Wie lang sind die Kündigungsfristen nach fünf Jahren?", "personal/vertrag.docx", ("zwei Monate",)),
    Question("Welche Ventile hat man in Halle 4 ausgetauscht?", "werk/bericht.md", ("Rückschlagventil",)),
    Question("Which release fixed the memory leak of the C# client?", "it/changes.rst", ("1.3.0",)),
    Question("How much is paid for a hotel night in Norway?", "hr/travel/policy_", ("140 euros",)),
    Question("大阪支社の電話番号は何ですか。", "japan/offices.md", ("06-6123-4567",)),
    Question("Which fee is due for late payment?", "legal/terms.rtf", ("40 €",)),
    Question("How fast does the valve V-30 close?", "products/valve_30.pdf", ("5 seconds",)),
    Question("What is the wavelength of the laser in the Lyon observatory?", "", ()),
    Question("Welche Spieler verpflichtete der Fußballverein?", "", ()),
]


def write_company(folder: Path) -> list[Path]:
    """Write the files, many of them irrelevant to the questions; deterministic."""
    for name in ("sales", "verkauf", "finance", "it", "hr/travel", "products", "legal", "mail", "lab", "personal"):
        (folder / name).mkdir(parents=True)
    for name in ("werk", "japan", "minutes", "reports"):
        (folder / name).mkdir()
    _write_tables(folder)
    _write_texts(folder)
    _write_documents(folder)
    _write_others(folder)
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write_tables(folder: Path) -> None:
    ends = [datetime(year, 12, 31) for year in (2026, 2027, 2028)]  # noqa: DTZ001 - Excel has no zones
    customers = [
        ["Customers of the north"],
        [],
        ["Number", "Name", "Phone", "Contract end", "Share"],
        ["007123", "Orm Seafood", "0049 431 22330", ends[0], 0.125],
        ["007124", "Borealis Shipping", "0047 22 871", ends[1], 0.5],
        ["000815", "Karsk Water", "0045 7788", ends[2], 0.0375],
    ]
    units = [["Product", "2023", None, "2024", None], [None, "Units", "Sales", "Units", "Sales"]]
    units += [[f"NP-{number}", number - 170, number * 90, number - 122, number * 95] for number in range(410, 450, 10)]
    _save_book(folder / "sales/customers.xlsx", customers, {"D": "dd.mm.yyyy", "E": "0.0%"})
    _save_book(folder / "sales/units.xlsx", units, {"C": '#,##0 "€"'}, ["A1:A2", "B1:C1", "D1:E1"])
    wartung = "Kunde;Leistung;Betrag\nHansen KG;Wartung;980,00 €\nMüller & Söhne;Wartung;1.250,00 €\n"
    (folder / "verkauf/wartung.csv").write_text(wartung, encoding="cp1252")
    rates = "Withholding tax\nas of 2025\n\nCountry,Code,Rate\nNorway,NO,0.25\nNamibia,NA,0.15\nNauru,NR,0.20\n"
    (folder / "finance/rates.csv").write_text(rates)
    engineers = ("Mara Klein", "Udo Behr", "Signe Dahl", "Jörg Abel")
    on_call = "".join(f"{week}\t{engineers[week % 4]}\n" for week in range(30, 50))
    (folder / "it/on_call.tsv").write_text(f"Week\tEngineer\n{on_call}", encoding="utf-16-le")


def _save_book(
    path: Path, rows: Sequence[Sequence[object]], formats: dict[str, str], merged: Sequence[str] = ()
) -> None:
    from openpyxl import Workbook

    book: Any = Workbook()
    for row in rows:
        book.active.append(row)
    for column, number_format in formats.items():
        for cell in book.active[column]:
            cell.number_format = number_format
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(path)


def _write_texts(folder: Path) -> None:
    for number in range(1, 13):
        month = datetime(2024, number, 1).strftime("%B")  # noqa: DTZ001
        text = f"# Report of {month} 2024\n\nRevenue was {number * 97 + 1200} thousand euros. The works in Kiel made "
        text += f"{number * 31 + 400} pumps.\n\n## Incidents\n\nThere were {number % 5} incidents in {month}.\n"
        (folder / f"reports/report_{number:02}.md").write_text(text)
    for number, topic in enumerate(("canteen", "parking", "website", "fair", "training", "safety"), 1):
        text = f"MINUTES {number}\n\nThe team met to talk about the {topic}.\n\n* Mara reports on {topic}\n* Udo writes"
        (folder / f"minutes/{topic}.txt").write_text(text)
    rooms = [["Name", "Phone", "Room"], ["Mara Klein", "22-31", "A-03"], ["Udo Behr", "22-45", "C-17"]]
    lines = "\n".join("".join(cell.ljust(14) for cell in row).rstrip() for row in rooms)
    (folder / "hr/rooms.txt").write_text(f"OFFICES IN KIEL\n\n{lines}\n")
    runbook = "# Runbook\n\n## Services\n\n| Service | Command |\n|---|---|\n| billing | `svc restart billing` |\n"
    (folder / "it/runbook.md").write_text(f"{runbook}| mail | `svc reload mail` |\n")
    bericht = (
        "# Bericht aus dem Werk\n\n## Halle 4\n\nAm 12. Mai wurde das Rückschlagventil ausgetauscht. Die Anlage läuft "
    )
    (folder / "werk/bericht.md").write_text(f"{bericht}wieder.\n\n## Halle 5\n\nHier wurden die Fenster geputzt.\n")
    numbers = {"東京": "03-5123-9876", "大阪": "06-6123-4567"}
    offices = "\n\n".join(f"## {city}\n\n{city}支社の電話番号は{number}です。" for city, number in numbers.items())
    (folder / "japan/offices.md").write_text(f"# 支社\n\n{offices}\n", encoding="utf-8")
    changes = "Changes\n=======\n\n1.2.9\n-----\n\nFaster start of the Java client.\n\n1.3.0\n-----\n\nThe C# client "
    (folder / "it/changes.rst").write_text(f"{changes}no longer leaks memory; fixed in 1.3.0.\n")


def _write_documents(folder: Path) -> None:
    leave = Part("Leave", "Leave is agreed with the team.", [["Grade", "Days"], ["A", "28"], ["B", "30"], ["C", "32"]])
    write_document(folder / "hr/handbook.docx", "Employee handbook", [Part("Hours", "Work starts at eight."), leave])
    for year in range(2019, 2025):
        text = "Trips are booked by the office. A hotel night in Norway costs up to 140 euros, in Spain up to 95."
        write_document(folder / f"hr/travel/policy_{year}.docx", f"Travel policy {year}", [Part("Hotels", text)])
    fristen = "Die Kündigungsfrist beträgt einen Monat. Nach fünf Jahren beträgt sie zwei Monate zum Ende des Monats."
    vertrag = [Part("Arbeitszeit", "Die Woche hat 38 Stunden."), Part("Kündigung", fristen)]
    write_document(folder / "personal/vertrag.docx", "Arbeitsvertrag", vertrag)
    aufgaben = [["Wer", "Was", "Bis"], ["Mara", "Angebot schreiben", "7. April"], ["Udo", "Vertrag prüfen", "9. April"]]
    sitzung = [Part("Aufgaben", "Die Sitzung fand im März statt.", aufgaben)]
    write_document(folder / "verkauf/protokoll.odt", "Protokoll der Sitzung", sitzung)
    churn = [["Quarter", "Revenue", "Churn"], ["second", "1.9 m", "2.8 %"], ["third", "2.1 m", "3.4 %"]]
    slides = [Part("Outlook", "We expect more orders."), Part("Churn by quarter", "", churn)]
    write_document(folder / "finance/results.pptx", "Results 2024", slides)
    codes = [["Code", "Meaning"], ["E-16", "Door is open"], ["E-17", "Pump runs dry"], ["E-18", "Valve is stuck"]]
    write_document(folder / "it/errors.html", "Error codes", [Part("Pumps", "The panel shows a code.", codes)])
    levers = [Part("Start", "Press the green button."), Part("Emergency", "Pull the orange emergency lever.")]
    write_document(folder / "products/manual.epub", "Manual of the NP series", levers)
    fee = "Invoices are due within 30 days. The fee for late payment is 40 € and interest."
    write_document(
        folder / "legal/terms.rtf", "Terms", [Part("Delivery", "We deliver to the quay."), Part("Payment", fee)]
    )
    rows = [
        ["Part", "Pressure", "Weight"],
        *([f"NP-{400 + n}", f"{n + 5} bar", f"{n + 20} kg"] for n in range(0, 60, 5)),
    ]
    lines = [(80 + 150 * at, 700 - 24 * down, cell) for down, row in enumerate(rows) for at, cell in enumerate(row)]
    draw_pdf(folder / "products/catalogue.pdf", [[(80, 760, "All pumps of the series are tested in Kiel."), *lines]])
    first = f"{'The warehouse in Kiel has 900 square metres.'.ljust(80)}The lease of the Kiel warehouse runs until"
    lease = make_pdf([first, "30 June 2031 and can be extended once. The rent is due monthly."])
    (folder / "legal/lease.pdf").write_bytes(lease)
    for number in range(1, 9):
        sheet = make_pdf([f"Data sheet of the valve V-{number}0. It closes within {number + 2} seconds."])
        (folder / f"products/valve_{number}0.pdf").write_bytes(sheet)


def _write_others(folder: Path) -> None:
    offer = "Dear Mara,\n\nwe can offer Borealis a discount of 12 percent if they\norder before May.\n\nRegards\nJörg\n"
    _save_mail(folder / "mail/offer.eml", "Offer for Borealis", "Jörg Abel <abel@nordwind.example>", offer)
    for number, topic in enumerate(("lunch", "lift", "printer", "visit", "badge", "car park", "plants", "coffee"), 1):
        text = f"Hello,\n\nplease mind the {topic} on floor {number}.\n\nBest\nSigne\n"
        _save_mail(folder / f"mail/note_{number}.eml", f"About the {topic}", "Signe Dahl <dahl@nordwind.example>", text)
    printed = {"output_type": "stream", "name": "stdout", "text": ["share of failed pumps: 2.75 percent\n"]}
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Endurance test\n", "Which share of the pumps failed?"]},
        {"cell_type": "code", "metadata": {}, "source": ["print(share(failed))"], "outputs": [printed]},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "lab/endurance.ipynb").write_text(json.dumps(notebook))
    names = {
        "T-16": ("Printer is jammed", "Mara Klein"),
        "T-17": ("Pump leaks", "Udo Behr"),
        "T-18": ("Login", "Signe Dahl"),
    }
    issues = [
        {"id": key, "fields": {"summary": text, "assignee": {"name": name}}} for key, (text, name) in names.items()
    ]
    (folder / "it/tickets.json").write_text(json.dumps({"exported": "2025-01-07", "data": {"issues": issues}}))
    feedback = [
        {"place": "Bergen", "text": "The customer sent the seal kit back, as it was too small."},
        {"place": "Kiel", "text": "The pump is quiet."},
    ]
    (folder / "sales/feedback.jsonl").write_text("\n".join(map(json.dumps, feedback)))
    services = "services:\n  billing:\n    port: 8080\n  invoice service:\n    # listens here\n    port: 8081\n"
    (folder / "it/services.yaml").write_text(services)
    code = '"""Payments."""\n\nMAX_RETRY_COUNT = 5\n\n\ndef pay(order):\n    """Pay an order."""\n    order.pay()\n'
    (folder / "it/payments.py").write_text(code)
    log = "".join(f"2025-01-{day:02} 10:00 INFO backup of node{day} done\n" for day in range(1, 9))
    (folder / "it/server.log").write_text(f"{log}2025-01-09 10:00 ERROR disk full on node7\n")
    (folder / "it/settings.ini").write_text("[database]\nhost = db.nordwind.example\n")
    (folder / "it/logo.png").write_bytes(b"\x89PNG\0")


def _save_mail(path: Path, subject: str, sender: str, text: str) -> None:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = subject, sender, "Mara Klein <klein@nordwind.example>"
    message.set_content(text)
    path.write_bytes(message.as_bytes())
