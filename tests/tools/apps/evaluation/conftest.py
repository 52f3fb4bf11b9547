"""A small data set in MuSiQue's format, and an index of its passages."""

import json
from pathlib import Path
from typing import Any

import pytest

from hopgraph.tools.apps.evaluation.rehearsal import RehearsalModel, make_rehearsal
from hopgraph.tools.retrieval import build_index
from support.musique_record import musique_record

FILMS = [
    ("Night Harbour", "Ada Brink", "Larvik", "Lågen"),
    ("The Salt Road", "Tomas Weil", "Graz", "Mur"),
    ("Paper Lanterns", "Yuki Arai", "Nagaoka", "Shinano"),
    ("A Winter Debt", "Paul Osei", "Kumasi", "Subin"),
    ("Glass Orchard", "Inés Roldán", "Zaragoza", "Ebro"),
    ("Seven Bridges", "Marta Kowal", "Toruń", "Vistula"),
    ("The Quiet Mile", "Aidan Byrne", "Kilkenny", "Nore"),
    ("Copper Sky", "Lena Fuchs", "Regensburg", "Danube"),
]
"""Title, director, birthplace, river."""


def _passages() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for film, director, city, river in FILMS:
        found += [
            (film, f"{film} is a drama film that won several prizes. Its director was {director}. It ran for a year."),
            (director, f"The film-maker {director} studied abroad for a while. The artist was born in {city} in 1950."),
            (city, f"{city} is an old town with a market hall and a port. The river {river} flows through its center."),
        ]
    return found


def _record(number: int) -> dict[str, Any]:
    film, director, city, river = FILMS[number]
    steps = [(f"{film} >> director", director, 3 * number), ("Where was #1 born?", city, 3 * number + 1)]
    asked = f"Where was the director of {film} born?"
    if number % 2:
        steps.append(("Which river flows through #2?", river, 3 * number + 2))
        asked = f"Which river flows through the birthplace of the director of {film}?"
    return musique_record(f"{len(steps)}hop__{number}", asked, _passages(), steps)


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight questions of two or three hops, each with the passages of all."""
    path = tmp_path_factory.mktemp("films") / "films.jsonl"
    path.write_text("\n".join(json.dumps(_record(number)) for number in range(len(FILMS))), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def films_index(films: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("index") / "films"
    build_index(films, folder)
    return f"bm25:{folder}"


@pytest.fixture(scope="session")
def perfect(films: Path) -> RehearsalModel:
    return make_rehearsal(str(films))
