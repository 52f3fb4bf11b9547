"""SECURITY.md names the tests of what it promises: each promise has some, and each name is a test's."""

import re

from support.paths import ROOT

SECURITY = (ROOT / "SECURITY.md").read_text()
NAMES = re.compile(r"`(test_\w+)`")


def test_each_promise_names_its_tests() -> None:
    promises = re.split(r"\n(?=- )", SECURITY.partition("## What is promised")[2].partition("\nNot promised:")[0])[1:]
    assert len(promises) >= 12
    assert [each for each in promises if not NAMES.search(each)] == []
    assert NAMES.search(SECURITY.partition("## Limits")[2].partition("\n## ")[0])


def test_each_name_is_that_of_a_test() -> None:
    written = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"^(?:async )?def (test_\w+)\(", written, re.MULTILINE))
    assert set(NAMES.findall(SECURITY)) - there == set()
