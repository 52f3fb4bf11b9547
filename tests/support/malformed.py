"""Replies that no role of the methods that go hop by hop can use, though some look like it."""

import json

LONG = "x y " * 50_000

MALFORMED: dict[str, str] = {
    "empty": "",
    "prose": "I am afraid that I cannot help with this question.",
    "wrong type": '["a", 1, null]',
    "wrong value types": json.dumps(
        {"sub_question": {"a": 1}, "answer": [], "ref": ["x"], "action": ["search"], "final_answer": {}}
    ),
    "another role's format": '{"useful_information": [{"info": "x", "support_passages": [1]}]}',
    "unfinished": '{"reasoning": "Who',
    "nothing in it": "{}",
    "long prose": "word " * 40_000,
    "long texts": json.dumps(
        {"sub_question": LONG, "answer": LONG, "ref": LONG, "revise": LONG, "action": f"search[{LONG}]"}
    ),
    "unseen characters": json.dumps({"sub_question": "\u200b", "action": "search[\u202e]", "ref": "\u200b x"}),
}
"""By what is wrong with them."""
