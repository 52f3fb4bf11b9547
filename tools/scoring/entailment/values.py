"""Numbers and dates of a text as values, so that different ways of writing them compare equal."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

_MONTHS = "january february march april may june july august september october november december"
MONTHS = tuple(_MONTHS.split())
_MONTH = r"(?P<month>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)[a-z]*)\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_DATES = (
    re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}(?:\s*,?\s*(?P<year>\d{{3,4}})\b)?"),
    re.compile(rf"\b{_MONTH}\s+{_DAY}(?:\s*,?\s*(?P<year>\d{{3,4}})\b)?"),
    re.compile(rf"\b{_MONTH}\s*,?\s+(?:of\s+)?(?P<year>\d{{4}})\b"),
    re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b"),
)

_BELOW_TEN = "zero one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WRITTEN = {
    **{word: value for value, word in enumerate([*_BELOW_TEN.split(), *_TEENS.split()])},
    **{word: 20 + 10 * place for place, word in enumerate(_TENS.split())},
    **{word: value for value, word in enumerate(_ORDINALS.split(), 1)},
}
_AMBIGUOUS = frozenset({"one", "first", "second"})
"""More often a pronoun, an adverb or a measure of time: they satisfy a number but never ask for one."""

_SCALE = rf"(?:[\s-]+(?P<scale>{'|'.join(_SCALES)})\b)?"
_IN_DIGITS = re.compile(
    r"(?<![\w.])(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(?P<decade>(?: ?['\u2019])?s)\b|(?:st|nd|rd|th)\b|[-\u2013](?P<until>\d{2})\b(?![-\u2013]))?" + _SCALE
)
_IN_WORDS = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS.split())})[\s-]+(?P<ones>{'|'.join(_BELOW_TEN.split()[1:])})"
    rf"|(?P<word>{'|'.join(_WRITTEN)}))\b{_SCALE}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Date:
    """A day, a month of a year, or a day of the year; what the text leaves open is None."""

    year: int | None
    month: int
    day: int | None

    def within(self, other: "Date") -> bool:
        """Whether the other date says at least what this one says."""
        return self.month == other.month and self.year in (None, other.year) and self.day in (None, other.day)


@dataclass(frozen=True, slots=True)
class Values:
    """The values that a text names."""

    dates: frozenset[Date]
    numbers: frozenset[str]
    """Plain decimal notation, the years of the dates among them, their days not."""
    decades: frozenset[int]
    """First years, as 1980 for `the 1980s`."""
    ambiguous: frozenset[str]
    """Numbers that `one`, `first` and `second` may mean."""

    def missing_from(self, other: "Values") -> bool:
        """Whether the other text lacks one of these values; a year stands for its decade."""
        years = {int(number) for number in other.numbers if number.isdigit() and len(number) == 4}
        return not (
            self.numbers <= other.numbers | other.ambiguous
            and all(any(date.within(known) for known in other.dates) for date in self.dates)
            and all(d in other.decades or any(d <= year < d + 10 for year in years) for d in self.decades)
        )


def union(values: Iterable[Values]) -> Values:
    """Put the values of several texts together."""
    dates: set[Date] = set()
    numbers: set[str] = set()
    decades: set[int] = set()
    ambiguous: set[str] = set()
    for one in values:
        dates |= one.dates
        numbers |= one.numbers
        decades |= one.decades
        ambiguous |= one.ambiguous
    return Values(frozenset(dates), frozenset(numbers), frozenset(decades), frozenset(ambiguous))


def read_values(sentence: str) -> Values:
    """Read the dates and numbers of a sentence.

    Numbers stand in digits, with thousands separators, decimals or as ordinals, or in words up to
    ninety-nine and from third to twelfth; both may be multiplied by a hundred to a trillion.
    """
    dates, rest = _read_dates(sentence)
    numbers = {str(date.year) for date in dates if date.year is not None}
    decades: set[int] = set()
    ambiguous: set[str] = set()
    for match in _IN_DIGITS.finditer(rest):
        value = Decimal(match["digits"].replace(",", ""))
        if match["decade"]:
            decades.add(int(value))
            continue
        numbers.add(_plain(value, match["scale"]))
        if match["until"]:
            numbers.add(_end_of_range(match["digits"], match["until"]))
    for match in _IN_WORDS.finditer(rest):
        words = [word.lower() for word in match.group("tens", "ones", "word") if word]
        value = _plain(Decimal(sum(_WRITTEN[word] for word in words)), match["scale"])
        unclear = words[0] in _AMBIGUOUS and not match["scale"]
        (ambiguous if unclear else numbers).add(value)
    return Values(frozenset(dates), frozenset(numbers), frozenset(decades), frozenset(ambiguous))


def _read_dates(text: str) -> tuple[set[Date], str]:
    """Return the dates, and the text without them, so that their days are not read as numbers."""
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
    month = int(number) if number else _month(name or "")
    if not 1 <= month <= 12 or (day and not 1 <= int(day) <= 31):
        return None
    return Date(int(year) if year else None, month, int(day) if day else None)


def _month(name: str) -> int:
    """Return 1 to 12, or 0 for a word that only begins like a month."""
    lower = name.lower()
    names = (m for m in MONTHS if m == lower or (len(lower) <= 4 and m.startswith(lower)))
    return next((MONTHS.index(month) + 1 for month in names), 0)


def _end_of_range(start: str, until: str) -> str:
    """Complete the second year of a range such as 2018-19; of any other range it stands as it is."""
    return start[:2] + until if len(start) == 4 and start.isdigit() else str(int(until))


def _plain(value: Decimal, scale: str | None) -> str:
    """Write a number without exponent and without zeros at its end; unscaled ones keep all their digits."""
    text = f"{value * _SCALES[scale.lower()] if scale else value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
