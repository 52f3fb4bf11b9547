"""Whether what the app needs can be used: its models and its index, apart."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

from hopgraph.state import Context
from hopgraph.tools.io.background import run_on
from hopgraph.tools.io.http_retries import status_of, trouble_of
from hopgraph.tools.models.structured import is_openai
from hopgraph.tools.resources import get_model, get_retriever
from hopgraph.tools.text.sanitize import truncate_line

_SECONDS = 5.0
"""What a check may take."""
_FRESH_SECONDS = 10.0
"""For so long a result is given again: `/health` is open to everybody."""
_PROBE = "health"
"""What is searched."""
_log = logging.getLogger(__name__)


class HealthCheck:
    """Checks the models and the index of some settings, once in a while however often it is asked."""

    def __init__(self, settings: Context) -> None:
        self._settings, self._checking = settings, asyncio.Lock()
        self._result, self._at = dict[str, str](), float("-inf")

    async def statuses(self) -> dict[str, str]:
        """Return `models` and `index`, each ok, refused (a key), unreachable or failed; the log says why."""
        async with self._checking:
            if time.monotonic() - self._at > _FRESH_SECONDS:
                models, index = await asyncio.gather(_status("models", self._models()), _status("index", self._index()))
                self._result, self._at = {"models": models, "index": index}, time.monotonic()
            return self._result

    async def _models(self) -> None:
        """Resolve every model; those behind an address of OpenAI's form are asked what they serve, which is free."""
        for role in ("", *self._settings.models):
            handle = await get_model(self._settings, role)
            if is_openai(handle.model):
                model: Any = handle.model
                await run_on(handle.loop(), _list_models(model))

    async def _index(self) -> None:
        """Open the index and search it; the web is not asked, as that may cost money."""
        retriever = await get_retriever(self._settings.retriever)
        if not str(self._settings.retriever).startswith("web:"):
            await retriever.ainvoke(_PROBE)


async def _list_models(model: Any) -> None:
    try:
        await model.root_async_client.with_options(max_retries=0, timeout=_SECONDS).models.list()
    except Exception as error:
        if status_of(error) not in (404, 405, 501):  # a server that cannot list them is up
            raise


async def _status(what: str, check: Coroutine[Any, Any, None]) -> str:
    try:
        async with asyncio.timeout(_SECONDS):
            await check
    except Exception as error:  # noqa: BLE001 - whatever a provider's package raises; it is logged
        _log.warning("health: %s: %s: %s", what, type(error).__name__, truncate_line(str(error), 300))
        if status_of(error) in (401, 403):
            return "refused"
        return "unreachable" if isinstance(error, TimeoutError) or trouble_of(error) == "outage" else "failed"
    return "ok"
