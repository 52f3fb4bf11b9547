"""How alike two texts are, by their words alone."""

import math
from collections import Counter

from hopgraph.tools.text.analyser import content_terms


def lexical_similarity(first: str, second: str) -> float:
    """Compare the content terms of two texts: the cosine of their counts.

    Returns:
        From 0 (no term in common, or a text without terms) to 1 (the same terms in the same proportions).
    """
    one, two = Counter(content_terms(first)), Counter(content_terms(second))
    shared = sum(count * two[term] for term, count in one.items())
    # One root of the product: two rounded roots would leave equal texts a hair below 1.
    return min(1.0, shared / math.sqrt(_square(one) * _square(two))) if shared else 0.0


def _square(counts: Counter[str]) -> int:
    return sum(count * count for count in counts.values())
