"""Scripted replies for the baselines with a single retrieval: one film, its director and her town."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from hopgraph.graphs.baselines import (
    cot,
    cot_sc,
    direct,
    dsp,
    gold_passages,
    ircot,
    iter_retgen,
    itrg,
    one_step,
    one_step_cot,
    replug,
    rerank,
    skr_knn,
    snippet,
    summ,
    vanilla,
    vanilla_s,
)
from support.walks import FixedRetriever, Script, Walk, walk

QUESTION = "Where was the director of the film Night Harbour born?"
FILM = ("Night Harbour", "Night Harbour is a 1961 film. It was directed by Ada Brink.")
PERSON = ("Ada Brink", "Ada Brink was a director. She was born in Tallinn.")
NOISE = ("Harbour", "A harbour shelters ships. Many a film is set in a harbour at night.")
DIRECTED = "Ada Brink directed Night Harbour."
BORN = "Ada Brink was born in Tallinn."
FOUND: dict[str, dict[str, tuple[str, str]]] = {
    "^Ada Brink": {"film": FILM, "person": PERSON},
    "": {"noise": NOISE, "film": FILM},
}
"""The second hop's passage is found only by a query that begins with its title."""
FOUND_BY_NAME = {"Ada Brink": FOUND["^Ada Brink"], "": FOUND[""]}
"""It is found by any query that names her."""
POOL: dict[str, dict[str, tuple[str, str]]] = {"": {"noise": NOISE, "film": FILM, "person": PERSON}}
GOLD = [{"title": FILM[0], "text": FILM[1]}, {"title": PERSON[0], "text": PERSON[1], "id": "person"}]

METHODS: dict[str, ModuleType] = {
    module.Context.method: module
    for module in (
        direct,
        cot,
        cot_sc,
        one_step,
        one_step_cot,
        skr_knn,
        vanilla,
        vanilla_s,
        summ,
        snippet,
        rerank,
        gold_passages,
        iter_retgen,
        ircot,
        dsp,
        itrg,
        replug,
    )
}
ROLES: dict[str, list[str]] = {
    "direct": ["answer"],
    "cot": ["answer_step_by_step"],
    "cot_sc": ["answer_step_by_step"] * 5,
    "one_step": ["answer"],
    "one_step_cot": ["answer_step_by_step"],
    "skr_knn": ["answer_step_by_step"],
    "vanilla": ["answer"],
    "vanilla_s": ["answer"],
    "summ": ["summarize"] * 3 + ["answer"],
    "snippet": ["snippet"] * 3 + ["answer"],
    "rerank": ["answer_step_by_step"] * 4,
    "gold_passages": ["answer"],
    "iter_retgen": ["answer_step_by_step"] * 2,
    "ircot": ["next_thought"] * 2 + ["answer_step_by_step"],
    "replug": ["answer"] * 3 + ["score_answer"] * 6,
    "dsp": ["write_query"] * 10 + ["answer_step_by_step"] * 5,
    "itrg": ["rewrite_passage", "rewrite_passage", "rewrite_passage", "answer"],
}
"""The roles of a run in their order."""


class Rated:
    """A reranker that scores texts by a function."""

    name = "rated"
    threshold: float | None = 0.0

    def __init__(self, rule: Callable[[str], float]) -> None:
        self.rule = rule

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self.rule(text) for _, text in pairs]


def by_title(text: str) -> float:
    """Score the relevant passages high."""
    return {"Ada Brink": 2.0, "Night Harbour": 1.0}.get(text.split("\n")[0], -1.0)


def titles(prompt: str) -> list[str]:
    return re.findall(r'<passage id="\d+" title="([^"]*)">', prompt)


def read(prompt: str) -> str:
    """Answer from the person's passage, from memory without passages, or else with the film's director."""
    shown = titles(prompt)
    if "<passages>" in prompt and "Ada Brink" not in shown:
        used = [shown.index("Night Harbour") + 1] if "Night Harbour" in shown else []
        return json.dumps({"reasoning": DIRECTED, "answer": "unanswerable", "used_passages": used})
    used = [shown.index("Ada Brink") + 1] if shown else []
    return json.dumps({"reasoning": BORN, "answer": "Tallinn", "used_passages": used})


def shorter(prompt: str) -> str:
    known = {"Night Harbour": DIRECTED, "Ada Brink": BORN}
    return json.dumps({"text": known.get(titles(prompt)[0], "Irrelevant.")})


def think(prompt: str) -> str:
    thought = "So the answer is: Tallinn." if DIRECTED in prompt else f"{DIRECTED} Then she moved."
    return json.dumps({"thought": thought})


def rewrite(prompt: str) -> str:
    """Return the document, followed by the passages' facts about the film and the person."""
    facts = [fact for title, fact in (("Night Harbour", DIRECTED), ("Ada Brink", BORN)) if title in titles(prompt)]
    return json.dumps({"passage": " ".join(dict.fromkeys([DIRECTED] * (DIRECTED in prompt) + facts))})


def propose(prompt: str) -> str:
    """Answer from the only passage; the film's gives its director."""
    return sampled("Ada Brink", used=[[1]])[0] if titles(prompt) == ["Night Harbour"] else read(prompt)


def score(prompt: str) -> str:
    """Give the right answer a high probability with any passage."""
    likely = "<continuation>\nTallinn\n</continuation>" in prompt
    return json.dumps({"tokens": [{"text": " x", "logprob": -0.2 if likely else -2.0}]})


def ask_next(prompt: str) -> str:
    """Ask for the film, and then for its director."""
    query = "Ada Brink born" if "Night Harbour" in titles(prompt) else "Night Harbour director"
    return json.dumps({"rationale": f"{query} is needed.", "query": query})


def sampled(*answers: str, reasons: Sequence[str] = (), used: Sequence[Sequence[int]] = ()) -> list[str]:
    """Return the replies of several samples."""
    reasons, used = reasons or [BORN] * len(answers), used or [[]] * len(answers)
    return [
        json.dumps({"reasoning": reason, "answer": answer, "used_passages": numbers})
        for answer, reason, numbers in zip(answers, reasons, used, strict=True)
    ]


def replies(**other: Any) -> dict[str, Any]:
    usual: dict[str, Callable[[str], str]] = {
        "answer": read,
        "answer_step_by_step": read,
        "summarize": shorter,
        "snippet": shorter,
        "next_thought": think,
        "write_query": ask_next,
        "write_passage": lambda _: '{"passage": "I don\'t know."}',
        "rewrite_passage": rewrite,
        "score_answer": score,
    }
    return {**usual, **other}


def labels_in(folder: Path, *labels: str, **origin: str) -> str:
    """Write labeled questions, each QUESTION with one more word than the previous one."""
    words = ["", " then", " then again", " then again elsewhere"]
    records = [{"question": f"{QUESTION}{more}", "label": each, **origin} for more, each in zip(words, labels)]  # noqa: B905
    path = folder / "labels.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return str(path)


def settings_for(method: str, script: Script, **more: Any) -> Any:
    hops = method in {"iter_retgen", "ircot", "dsp", "one_step", "one_step_cot"}
    given: dict[str, Any] = {
        "model": script.model(),
        "retriever": FixedRetriever(found=FOUND_BY_NAME if method == "itrg" else FOUND if hops else POOL),
        "reranker": Rated(by_title),
        **({"queries_per_hop": 5, "samples": 5} if method == "dsp" else {}),
    }
    return METHODS[method].Context(**{**given, **more})


def input_for(method: str) -> Any:
    return {"question": QUESTION, **({"gold_passages": GOLD} if method == "gold_passages" else {})}


def go(method: str, other: Mapping[str, Any] | None = None, **more: Any) -> tuple[Walk, Script]:
    """Run a baseline; `other` replaces replies by their step."""
    own = {"answer": propose} if method == "replug" else {}
    script = Script(replies(**{**own, **(other or {})}))
    return walk(METHODS[method].graph, input_for(method), settings_for(method, script, **more)), script


def queries_of(run: Walk) -> list[Any]:
    return [event["data"]["query"] for event in run.events if event["event"] == "query"]
