"""When two answers count as the same."""

import re
import string

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Lower-case a text and remove ASCII punctuation, articles and surplus white space, as SQuAD's script does.

    Returns:
        The normalised text; empty when nothing but punctuation and articles was there.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())
