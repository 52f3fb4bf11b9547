"""What goes before queries and passages, for models whose own configuration does not say."""

import re
from typing import NamedTuple


class Prefixes(NamedTuple):
    """The texts that a model was trained to see before a query and before a passage; empty for none."""

    query: str = ""
    passage: str = ""


_WEB_SEARCH = "Given a web search query, retrieve relevant passages that answer the query"
_BY_NAME: tuple[tuple[re.Pattern[str], Prefixes], ...] = (
    (re.compile(r"e5-mistral|e5-.*instruct"), Prefixes(f"Instruct: {_WEB_SEARCH}\nQuery: ")),
    (re.compile(r"(^|[-_])e5([-_]|$)"), Prefixes("query: ", "passage: ")),
    (re.compile(r"bge-m3"), Prefixes()),
    (re.compile(r"bge-.*zh"), Prefixes("为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001 - as the model's card has it
    (re.compile(r"(^|[-_])bge-"), Prefixes("Represent this sentence for searching relevant passages: ")),
    (re.compile(r"nomic-embed"), Prefixes("search_query: ", "search_document: ")),
)
"""From the models' cards, first match. All others (GTE, all-MiniLM, Contriever, …) have none."""


def prefixes_by_name(name: str) -> Prefixes:
    """Look a model up by the last part of its name or path, as `intfloat/e5-base-v2` or `models/bge-small-en`."""
    last = name.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    return next((prefixes for pattern, prefixes in _BY_NAME if pattern.search(last)), Prefixes())
