"""Known formats of corpora and question sets (`data_formats.yaml`), recognized by the keys of a record."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files

import yaml
from pydantic import BaseModel, field_validator


class DataFormat(BaseModel, frozen=True, extra="forbid"):
    """A file format."""

    description: str
    """Description of its files, in Markdown."""
    keys: tuple[tuple[str, ...], ...] = ()
    """For each edition, the keys that its first record must have; empty if it is not recognized by keys."""
    extra: frozenset[str] | None = None
    """Other keys that its records may have; None allows any."""
    file: str
    """Typical file name."""
    example: str
    """A complete example file."""

    @field_validator("keys", mode="before")
    @classmethod
    def _split_keys(cls, value: list[str]) -> list[list[str]]:
        return [edition.split() for edition in value]

    def fits(self, found: Collection[str]) -> bool:
        """Return whether a record with these keys may be in this format."""
        given = frozenset(found)
        return any(
            given.issuperset(keys) and (self.extra is None or given <= self.extra.union(keys)) for keys in self.keys
        )


class DataFormats(BaseModel, frozen=True, extra="forbid"):
    """All formats by name, in the order in which they are checked."""

    corpora: dict[str, DataFormat]
    questions: dict[str, DataFormat]


@cache
def read_data_formats() -> DataFormats:
    """Read `data_formats.yaml`."""
    text = files(__package__ or "").joinpath("data_formats.yaml").read_text(encoding="utf-8")
    return DataFormats.model_validate(yaml.safe_load(text))


def recognize(found: Collection[str], formats: Mapping[str, DataFormat]) -> str | None:
    """Return the first format that a record with these keys fits; None if there is none."""
    return next((name for name, each in formats.items() if each.fits(found)), None)


def describe_nearest(found: Collection[str], formats: Mapping[str, DataFormat]) -> str:
    """Name the format with the largest share of its keys in `found`, ignoring case, and the keys that are missing."""
    given = {key.lower() for key in found}
    editions = [(name, keys) for name, each in reversed([*formats.items()]) for keys in each.keys]
    name, keys = max(editions, key=lambda edition: sum(key.lower() in given for key in edition[1]) / len(edition[1]))
    if not any(key.lower() in given for key in keys):
        return f"no known format has any of them ({', '.join(formats)})"
    if missing := [key for key in keys if key not in found]:
        return f"the nearest known format, {name}, also has {' and '.join(missing)}"
    known = [*keys, *sorted(formats[name].extra or frozenset[str]())]
    return f"the nearest known format, {name}, has no other keys than {', '.join(known)}"
