"""A chat in a separate process, which a test kills: `chat_worker.py PLACE USER THREAD MODEL QUESTION`."""

import asyncio
import sys
from typing import Any

from hopgraph.graphs import chat
from hopgraph.tools.apps.server.threads import open_threads


async def talk(place: str, user: str, thread: str, model: str, question: str) -> None:
    """Run a turn and print the name of each step as it happens.

    A step begins when the checkpoint before it is written, which by default (`durability="async"`) may come later.
    """
    settings = chat.Context(model=model, use_method="migres")
    async with open_threads(place) as threads:
        app: Any = chat.build().compile(checkpointer=threads.saver, name="Chat")
        config = threads.config(user, await threads.create(user, thread=thread))
        given = {"messages": [("user", question)]}
        how: Any = {"stream_mode": "custom", "subgraphs": True, "durability": "sync"}
        async for _, step in app.astream(given, config, context=settings, **how):
            sys.stdout.write(f"{step['event']}\n")
            sys.stdout.flush()


asyncio.run(talk(*sys.argv[1:]))
