"""Renamed settings: errors name the new name, and stored values under the old name are still read."""

from collections.abc import Mapping
from typing import Any

RENAMED = {
    "passages_per_query": "top_k",
    "passages_per_extraction": "context_passages",
    "leave_out_question": "exclude_question_text",
    "threshold_for": "threshold_reranker",
    "max_reply_tokens": "max_output_tokens",
    "answer_style": "answer_instructions",
    "neighbours": "neighbors",
}


def with_current_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings under their current names."""
    return {RENAMED.get(name, name): value for name, value in settings.items()}
