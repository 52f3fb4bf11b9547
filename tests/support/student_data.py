"""Hand-made training data in the format of `hopgraph distill`, about passages that name a color."""

import json
from collections.abc import Sequence
from pathlib import Path

from hopgraph.tools.prompts import render

ROLE = "ra_isf/judge_relevance"
COLORS = ("red", "blue", "green", "white")


def write_data(folder: Path, *, questions: int = 8, role: str = ROLE, replies: Sequence[str] = ()) -> Path:
    """Write two examples for each question, one relevant and one not; or with replies of one's own, in turn.

    The instructions are left out, which would only take time.
    """
    lines: list[str] = []
    for number in range(2 * questions):
        color, relevant = COLORS[number // 2 % len(COLORS)], number % 2 == 0
        passage = {"title": f"House {number}", "text": f"It is {color if relevant else 'old'}."}
        messages = render(ROLE, {"passages": [passage], "question": f"Which house is {color}?"})
        reply = replies[number % len(replies)] if replies else json.dumps({"relevant": relevant})
        prompt = [{"role": "system", "content": f"Role: {role}"}, {"role": "user", "content": messages[-1].text}]
        lines.append(
            json.dumps(
                {
                    "prompt": prompt,
                    "completion": [{"role": "assistant", "content": reply}],
                    "id": f"q{number // 2}:{number}",
                    "label": "relevant" if relevant else "irrelevant",
                }
            )
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / "summary.json").write_text(json.dumps({"role": role}), "utf-8")
    return folder
