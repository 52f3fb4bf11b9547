"""Hostile text: escape sequences, control characters, markup, direction marks."""

import unicodedata

from hypothesis import strategies as st

ANY_TEXT = st.text(st.characters(), max_size=200) | st.text(
    st.sampled_from("\x1b[]0;31mHJ\x07\x9b\x9d\\ \n\t\u202e\u2066\u200b/bold漢é\x00"), max_size=60
)


def is_harmless(text: str) -> bool:
    """Return whether a terminal would only display this text."""
    return not any(
        unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in "\u200c\u200d" for char in text
    )
