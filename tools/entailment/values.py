"""Numbers and dates of a text as values, so that different ways of writing them compare equal."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

_MONTHS = ("january february march april may june july august september october november december").split()
_MONTH = r"(?P<month>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]*)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_DATES = (
    re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}(?:\s*,?\s*(?P<year>\d{{3,4}})\b)?"),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?:\s*,?\s*(?P<year>\d{{3,4}})\b)?"),
    re.compile(rf"\b{_MONTH}\s*,?\s+(?:of\s+)?(?P<year>\d{{4}})\b"),
    re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b"),
)
_DIGITS = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(?P<decade>(?: ?['’])?s)\b|(?:st|nd|rd|th)\b)?(?:[\s-]+(?P<scale>hundred|thousand|million|billion|trillion)\b)?"
)
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WRITTEN = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})(?:[\s-]+(?P<ones>{'|'.join(_UNITS[1:10])}))?|(?P<unit>{'|'.join(_UNITS)}))\b"
    rf"(?:[\s-]+(?P<scale>{'|'.join(_SCALES)})\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Date:
    """A day, a month of a year, or a day of a month; what the text leaves open is None."""

    year: int | None
    month: int
    day: int | None

    def within(self, other: "Date") -> bool:
        """Tell whether the other date says at least what this one says."""
        return (
            self.month == other.month
            and (self.year is None or self.year == other.year)
            and (self.day is None or self.day == other.day)
        )


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a text names."""

    dates: frozenset[Date]
    numbers: frozenset[str]
    """Plain decimal notation, years among them; the days of the dates are left out."""
    decades: frozenset[int]
    """First years, as 1980 for `the 1980s`."""

    def missing_from(self, other: "Values") -> bool:
        """Tell whether the other text lacks one of these values.

        `one` needs no counterpart: it is more often a pronoun than a number. A year of the decade stands
        for the decade.
        """
        years = {int(number) for number in other.numbers if number.isdigit() and len(number) == 4}
        return not (
            self.numbers - {"1"} <= other.numbers
            and all(any(date.within(known) for known in other.dates) for date in self.dates)
            and all(d in other.decades or any(d <= year < d + 10 for year in years) for d in self.decades)
        )


@lru_cache(maxsize=8192)
def read_values(text: str) -> Values:
    """Read the dates and numbers of a text, the latter in digits or in words up to ninety-nine times a scale."""
    dates, rest = _read_dates(text)
    numbers = {str(date.year) for date in dates if date.year is not None}
    decades: set[int] = set()
    for match in _DIGITS.finditer(rest):
        value = Decimal(match["digits"].replace(",", ""))
        if match["decade"]:
            decades.add(int(value))
        else:
            numbers.add(_plain(value, match["scale"]))
    for match in _WRITTEN.finditer(rest):
        tens = 20 + 10 * _TENS.index(match["tens"].lower()) if match["tens"] else 0
        unit = match["ones"] or match["unit"]
        units = _UNITS.index(unit.lower()) if unit else 0
        numbers.add(_plain(Decimal(tens + units), match["scale"]))
    return Values(frozenset(dates), frozenset(numbers), frozenset(decades))


def _read_dates(text: str) -> tuple[set[Date], str]:
    """Return the dates and the text without them, so that their days are not read as numbers."""
    dates: set[Date] = set()
    for pattern in _DATES:
        pieces: list[str] = []
        end = 0
        for match in pattern.finditer(text):
            date = _date(match.groupdict())
            if date:
                dates.add(date)
                pieces.append(text[end : match.start()])
                end = match.end()
        text = " ; ".join([*pieces, text[end:]])
    return dates, text


def _date(parts: dict[str, str | None]) -> Date | None:
    year, day, name, number = parts.get("year"), parts.get("day"), parts.get("month"), parts.get("number")
    month = int(number) if number else next((i for i, m in enumerate(_MONTHS, 1) if _names(m, name or "")), 0)
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
        return None
    return Date(int(year) if year else None, month, int(day) if day else None)


def _names(month: str, text: str) -> bool:
    return month == text.lower() or (len(text) <= 4 and month.startswith(text.lower()))


def _plain(value: Decimal, scale: str | None) -> str:
    """Write a number without exponent and without zeros at its end; unscaled ones keep all their digits."""
    text = f"{value * _SCALES[scale.lower()] if scale else value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
