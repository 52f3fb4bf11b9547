"""SECURITY.md names the tests of what it promises: each promise has some, and each name is a test's."""

import re
import tomllib
from itertools import chain

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from support.paths import ROOT

SECURITY = (ROOT / "SECURITY.md").read_text()
NAMES = re.compile(r"`(test_\w+)`")


def test_each_promise_names_its_tests() -> None:
    promises = re.split(r"\n(?=- )", SECURITY.partition("## Guarantees")[2].partition("\nNot guaranteed:")[0])[1:]
    assert len(promises) >= 12
    assert [each for each in promises if not NAMES.search(each)] == []
    assert NAMES.search(SECURITY.partition("## Limits")[2].partition("\n## ")[0])


def test_each_name_is_that_of_a_test() -> None:
    written = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    there = set(re.findall(r"^(?:async )?def (test_\w+)\(", written, re.MULTILINE))
    assert set(NAMES.findall(SECURITY)) - there == set()


def test_no_pinned_version_has_a_listed_advisory() -> None:
    """Nor a version that `pyproject.toml` allows."""
    rows = re.findall(r"^\| ([\w.-]+) \| ([\d.]+) \| (?:CVE|GHSA)-", SECURITY, re.MULTILINE)
    fixed = {canonicalize_name(name): Version(version) for name, version in rows}
    assert len(fixed) >= 15
    for file in ("constraints.txt", "requirements.txt"):
        pins = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / file).read_text(), re.MULTILINE)
        versions = {canonicalize_name(name): Version(version) for name, version in pins}
        assert {name for name in fixed.keys() & versions.keys() if versions[name] < fixed[name]} == set()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for each in map(Requirement, chain(project["dependencies"], *project["optional-dependencies"].values())):
        for bound in each.specifier:
            if bound.operator == ">=" and canonicalize_name(each.name) in fixed:
                assert Version(bound.version) >= fixed[canonicalize_name(each.name)], each
