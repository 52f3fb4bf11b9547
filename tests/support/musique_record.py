"""Questions in MuSiQue's format."""

from collections.abc import Sequence
from typing import Any


def musique_record(
    name: str,
    question: str,
    passages: Sequence[tuple[str, str]],
    steps: Sequence[tuple[str, str, int]],
    answer: str = "",
) -> dict[str, Any]:
    """Return a record made from passages (title, text) and steps (question, answer, passage number).

    The last step's answer is the question's unless another is given.
    """
    gold = {place for _, _, place in steps}
    return {
        "id": name,
        "question": question,
        "answer": answer or steps[-1][1],
        "answer_aliases": [],
        "answerable": True,
        "paragraphs": [
            {"idx": place, "title": title, "paragraph_text": text, "is_supporting": place in gold}
            for place, (title, text) in enumerate(passages)
        ],
        "question_decomposition": [
            {"id": place, "question": asked, "answer": said, "paragraph_support_idx": place}
            for asked, said, place in steps
        ],
    }
