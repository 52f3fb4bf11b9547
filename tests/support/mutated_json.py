"""Mutated JSON documents."""

import copy
import json
import random
from collections.abc import Sequence
from typing import Any


def mutate_json(chance: random.Random, good: Any, junk: Sequence[Any], *, removed: float) -> bytes:
    """Return a document with one to three parts replaced by `junk` or, with probability `removed`, left out."""
    document = copy.deepcopy(good)
    for _ in range(chance.randint(1, 3)):
        holders: list[Any] = [document]
        for holder in holders:  # grows while it is read
            inner = holder.values() if isinstance(holder, dict) else holder
            holders += [each for each in inner if isinstance(each, dict | list) and each]
        holder = chance.choice(holders)
        place = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        if isinstance(holder, dict) and chance.random() < removed:
            del holder[place]
        else:
            holder[place] = copy.deepcopy(chance.choice(junk))
        if not document:
            break
    return json.dumps(document, ensure_ascii=chance.random() < 0.5).encode(errors="surrogatepass")
