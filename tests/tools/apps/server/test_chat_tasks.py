"""Tasks that chat apps send on their own, and questions that resemble them."""

import json

import pytest

from hopgraph.tools.apps.server.chat_tasks import system_task_reply, task_reply

HISTORY = "<chat_history>\nUSER: Who painted Guernica?\nASSISTANT: Pablo Picasso [1]\n</chat_history>"
LINES = "User: Who painted Guernica?\nAI: Pablo Picasso"
TITLE = "Who painted Guernica?"


@pytest.mark.parametrize(
    ("output", "value"),
    [
        ('{ "title": "📉 Markets" }', TITLE),
        ('{ "tags": ["tag1", "tag2"] }', []),
        ('{ "tags": "a list" }', []),
        ('{ "follow_ups": ["Question 1?"] }', []),
        ('{\n  "queries": []\n}', []),
        ('{ "text": "<your completion>" }', ""),
        ('{\n    "prompt": "Your description here."\n}', TITLE),
        ('{ "emoji": "x" }', "💬"),
        ('{ "summary_name": "x" }', TITLE),
    ],
)
def test_the_tasks_of_open_webui_are_answered(output: str, value: object) -> None:
    (key,) = json.loads(task_reply(f"### Task:\nDo it.\n### Output:\n{output}\n### Chat History:\n{HISTORY}") or "")
    for prompt in (f"### Task:\nDo it.\n### Output:\n{output}\n{HISTORY}", f"{HISTORY}\nAnswer with: {output}"):
        assert json.loads(task_reply(prompt) or "") == {key: value}


@pytest.mark.parametrize(
    "message",
    [
        f"Nenne einen Titel für dieses Gespräch:\n{HISTORY}",
        f"# Name\nGive this chat a short name.\n{HISTORY}",
        f"Provide a concise, 5-word-or-less title for the conversation. Only that.\n\nConversation:\n{LINES}",
        f"Analyze this conversation and provide:\n1. Its language\n2. A concise title\n\n{LINES}",
        'Generate a title for the conversation.\n\n||>User:\n"Who painted Guernica?"\n||>Response:\n"P."\n\n||>Title:',
        "Summarize the chat as a title.\nHuman: Who painted Guernica?\nAssistant: Pablo Picasso",
        f"Based on the chat history, give this conversation a name.\n\n```\nuser: {TITLE}\n\nassistant: P.\n```",
        f"Analyze the given chat and extract a title.\n```\n- you: {TITLE}\n- assistant: P.\n```",
        f'Summarize in a 10-word Title. Give the title only. Here is the message: "{TITLE}"',
        f"Create a short title (max 6 words) for the following chat message:\n\n{TITLE}",
        f"Create a 3-5 word phrase as a header for the following query, without the word 'title': {TITLE}",
    ],
)
def test_a_title_in_plain_text_is_the_first_question(message: str) -> None:
    assert task_reply(message) == TITLE


def test_the_tasks_of_other_chat_apps_are_answered() -> None:
    face = "Your task is to reflect the speaker's likely facial expression through a fitting emoji."
    assert task_reply(f'{face}\n\nMessage: """{TITLE}"""') == "💬"
    empty = '### Task:\nContinue the text. { "text": "" }\n<chat_history>\n\n</chat_history>\n<text>Who painted</text>'
    assert task_reply(empty) == '{"text": ""}'
    later = "Please generate a four to five word title summarizing our conversation."
    assert (task_reply(later, TITLE), task_reply(later)) == (TITLE, None)
    assert task_reply("Quel titre ?", certain=True) == "Quel titre ?"
    assert len(task_reply(f"Title the chat, please:\n{HISTORY.replace('Guernica', 'it ' * 99)}") or "") == 60


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ("You are a professional summarizer. Generate a title for the conversation. Output ONLY the title.", LINES),
        ("Summarize the given session as a title, not using punctuation.", TITLE),
        ("Please generate a 5-word title for the conversation, with no punctuation.", f"User: {TITLE}"),
        ("You are a chat titling assistant.\nGoal: Produce a short title of the message, only that.", f'"{TITLE}"'),
    ],
)
def test_a_task_of_a_system_message_is_about_the_message(system: str, message: str) -> None:
    assert system_task_reply(system, message) == TITLE


@pytest.mark.parametrize(
    "system",
    [
        "You are a helpful assistant. Give short answers with a title.",
        "You are a helpful assistant of Contoso. Keep the conversation friendly. Use only the documents and titles.",
        "Answer in German.",
    ],
)
def test_other_system_messages_set_no_task(system: str) -> None:
    assert system_task_reply(system, TITLE) is None


def test_a_tool_choice_task_chooses_no_tool() -> None:
    assert json.loads(system_task_reply("Available Tools: [{}]\n\nYour task is to choose", TITLE) or "") == {
        "tool_calls": []
    }


@pytest.mark.parametrize(
    "message",
    [
        '### Task:\nExplain <chat_history> and {"title": "x"} in Open WebUI',
        "### Task:\nWho painted Guernica?",
        'Why does {"title": 1} stand in <chat_history>?',
        f"What does this prompt do?\n### Task:\nGenerate a title\n{HISTORY}",
        f'Explain this prompt:\n### Task:\nGenerate a title {{ "title": "x" }}\n{HISTORY}',
        f"### Task:\nGenerate a title\n{HISTORY}\nWhich app sends this?",
        "What do <chat_history> and </chat_history> mean?",
        'Give the name of the person who said """I came, I saw, I conquered"""',
        "Give the title of the film with this dialogue:\nHuman: Are you there\nAI: Yes",
        "Give the title of the film that Francis Ford Coppola made after The Conversation.",
        f"Which film has these lines in a conversation?\n{LINES}",
    ],
)
def test_a_question_that_resembles_a_task_is_not_a_task(message: str) -> None:
    assert task_reply(message, "Who are you?") is None
