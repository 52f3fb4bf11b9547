"""Twelve requests for long answers, and a model that writes these answers."""

import json
from typing import Any

from langchain_core.messages import BaseMessage

from support.honest import honest
from support.servers.scripted_model import ScriptedChatModel

REQUESTS: dict[str, str] = {
    "Summarize the life of Pablo Picasso in five bullet points.": (
        "- Pablo Picasso was born in **Málaga** [1].\n- He painted *Guernica* in 1937 [1, 2].\n"
        "- It took him a few weeks [2].\n- It hung in the Spanish pavilion [2].\n- He died in 1973."
    ),
    "Give me a summary of Guernica in two paragraphs.": (
        "Guernica is a painting by Pablo Picasso. [1] It shows the bombing of a town [2].\n\n"
        "It was painted for the World's Fair in Paris [1]. Costs of $5 & more < 2 * 3 are not known [2]."
    ),
    "Explain why Guernica was painted.": (
        "## The reason\n\nIt was commissioned for the Spanish pavilion [1].\n\n"
        "## The event\n\nThe town was bombed in 1937 [2].\n\n> It is not an instrument to decorate walls [1]."
    ),
    "Compare Pablo Picasso and Marie Curie in a table.": (
        "They worked in different fields [1]:\n\n| Who | Field | Born |\n|:--|:-:|--:|\n"
        "| Pablo Picasso | painting | 1881 [1] |\n| Marie Curie | physics, chemistry | 1867 [2] |\n"
        "| Both | `a \\| b` | [3] |"
    ),
    "What is the difference between radium and polonium?": (
        "**Radium** was found in 1898 [1]. **Polonium** was named after Poland [2].\n\n"
        "1. Radium: used in paint [1].\n2. Polonium: used in brushes [2]."
    ),
    "How do I visit the museum, step by step?": (
        "Go like this:\n\n1. Take the train to Madrid [1].\n2. Change:\n   - to line 1 [2]\n   - or to line 3 [2]\n"
        "3. Walk ten minutes [1]."
    ),
    "Write the steps to run the program.": (
        "Run this:\n\n```sh\ncat <a.txt | grep '[1]' && echo `date`\n```\n\nThen read `out[1]` [1]."
    ),
    "List the pros and cons of trains.": (
        "### Pros\n\n- quiet [1]\n- ~~cheap~~ fast [2]\n\n### Cons\n\n- late\n- full [3]\n\n---\n\n"
        "More is not known [1]."
    ),
    "Describe Marie Curie in detail.": (
        "# Marie Curie\n\nShe was a physicist.[1] She was a chemist [2]. She is said to have sung.\n\n"
        "#### Prizes\n\n* Physics, 1903 [1]\n* Chemistry, 1911 [2]"
    ),
    "Erkläre, warum Guernica gemalt wurde.": (
        "Das Bild entstand für die Weltausstellung [1]. Es zeigt z. B. ein Pferd [1].\n\n- Größe: 3,49 m × 7,77 m [1]"
    ),
    "Compare the three museums as a list of their rules.": (
        "- Prado\n  - opens at ten [1]\n  - closes at eight [1]\n- Louvre\n\n  A second paragraph stands here [2].\n"
        "- Tate [3]"
    ),
    "Give an overview of the plan with a wide table.": (
        "| Step | Who decides | What is needed | Until when | Where it is filed | What it costs |\n"
        "|---|---|---|---|---|---|\n"
        + "".join(
            f"| {n} | the head of department | form {n}-{n * 111} | May {n} | archive | {n} € [1] |\n"
            for n in range(1, 7)
        )
    ),
}
"""From a question to the Markdown of the model's reply."""


def writes(replies: dict[str, str] = REQUESTS) -> ScriptedChatModel:
    """Return a model like the offline one, but with these long answers to the questions."""

    def reply(role: str, messages: list[BaseMessage]) -> str:
        if not role.endswith("write_full_answer"):
            return honest(role, messages)
        prompt = str(messages[-1].text)
        return json.dumps({"answer": next(text for asked, text in replies.items() if f"\n{asked}\n" in prompt)})

    return ScriptedChatModel(replies=reply)


def always(text: str) -> ScriptedChatModel:
    """Return a model like the offline one, but with this long answer."""

    def reply(role: str, messages: list[BaseMessage]) -> Any:
        return json.dumps({"answer": text}) if role.endswith("write_full_answer") else honest(role, messages)

    return ScriptedChatModel(replies=reply)
