"""Scripted retrieval and reviews for the methods that review paths of paragraphs."""

import json
import re
from collections.abc import Mapping
from typing import Any

from support.walks import FixedRetriever, Script

QUESTION = "Where was the director of the film Night Harbour born?"
TEXTS = {
    "film": "Night Harbour is a 1961 film. It was directed by Ada Brink. It is set in a port.",
    "person": "Ada Brink was a director. She was born in Tallinn. She liked ships.",
    "harbour": "A harbour shelters ships. Many a film is set in a harbour at night.",
    "critic": "Olaf Mets wrote about Night Harbour. He praised Ada Brink of Tallinn, its director.",
    "port": "A port is a harbour with quays where ships are loaded.",
    "city": "Tallinn is a city in Estonia. It lies on the Gulf of Finland.",
    "ships": "Ada Brink collected model ships. She gave them to a museum.",
    "night": "Night is the time between dusk and dawn.",
}


def passages(*keys: str) -> dict[str, tuple[str, str]]:
    """Return ranked passages whose titles are their ids."""
    return {key: (key, TEXTS.get(key, f"The article on {key} says that {key} is {key}.")) for key in keys}


def world(**found: str) -> FixedRetriever:
    """Return a retriever of passages (ids in one text) by a word of the query, else `otherwise`."""
    rest = passages(*found.pop("otherwise", "").split())
    return FixedRetriever(found={**{word: passages(*keys.split()) for word, keys in found.items()}, "": rest})


def reject(query: str = "else") -> str:
    return json.dumps({"relevant": False, "enough": False, "analysis": "", "answer": "", "query": query})


def search(query: str, missing: str = "more") -> str:
    return json.dumps({"relevant": True, "enough": False, "analysis": missing, "answer": "", "query": query})


def accept(answer: str, analysis: str = "") -> str:
    return json.dumps({"relevant": True, "enough": True, "analysis": analysis, "answer": answer, "query": ""})


def fused(answer: str, *used: int) -> str:
    return json.dumps({"reasoning": "they agree", "answer": answer, "used_assertions": list(used)})


def read(answer: str, *used: int) -> str:
    return json.dumps({"reasoning": "read off", "answer": answer, "used_passages": list(used)})


def completed(passage: str) -> str:
    return json.dumps({"missing": "more", "passage": passage})


def titles_in(prompt: str) -> str:
    """Return the titles of a prompt's paragraphs in order, joined by spaces."""
    return " ".join(re.findall(r'<passage id="\d+" title="([^"]*)">', prompt))


def by_path(replies: Mapping[str, str], otherwise: str | None = None) -> Any:
    """Reply according to the titles of the paragraphs shown; raise if there is no reply."""

    def reply(prompt: str) -> str:
        key = titles_in(prompt)
        return replies[key] if otherwise is None else replies.get(key, otherwise)

    return reply


def script(reviews: Mapping[str, str], otherwise: str | None = None, **steps: Any) -> Script:
    """Return a script that reviews by path; by default queries are the last title and no answer is found."""
    own: dict[str, Any] = {
        "review": by_path(reviews, otherwise),
        "review_directly": by_path(reviews, otherwise),
        "complete": lambda prompt: completed("about " + titles_in(prompt).split()[-1]),
        "answer_step_by_step": lambda _: read("unanswerable"),
        **steps,
    }
    return Script(own)
