"""A router as LangGraph runs it: under the method's own settings, and by way of the reviews that they ask for."""

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import set_config_context
from langgraph.runtime import Runtime, get_runtime

from hopgraph.nodes.core.step_function import StepFunction
from hopgraph.state.context import Context
from hopgraph.state.run_settings import settings_of_run
from hopgraph.tools.io.background import run_in_background
from hopgraph.tools.io.runnables import callback_handlers


class _SyncRouter(RunnableLambda[Any, Any]):
    """A sync router, which is run without LangChain's preparations where no callback handler watches."""

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        if config is None or callback_handlers(config):
            return await super().ainvoke(input, config, **kwargs)
        with set_config_context(config) as context:
            return context.run(cast("Any", self).func, input, config)


Ways = Mapping[str, tuple[str, str]]
"""Target that a router chooses → the setting that asks for a review there, and the review's node."""


def make_router(
    name: str, router: StepFunction, cls: type[Context], *, gets_settings: bool, led: Ways | None = None
) -> Runnable[Any, Any]:
    """Make a router's function a runnable; a sync one runs on the event loop, where `StateGraph` would take a thread.

    Its `runtime.context` is the settings if it `gets_settings`, else what the caller gave.
    """

    def given(state: Any) -> tuple[Runtime[Any], Context]:
        runtime = cast("Runtime[Any] | None", get_runtime())
        if runtime is None:  # in `update_state`, which takes no context: the settings that the run recorded
            known = cast("Mapping[str, Any]", state if isinstance(state, Mapping) else vars(state))
            recorded = known.get("settings")
            runtime = Runtime(context=cls.model_construct(**recorded) if recorded else None)
        settings = settings_of_run(runtime.context, cls)
        return (runtime.override(context=settings) if gets_settings else runtime), settings

    def where(ways: Any, settings: Context) -> Any:
        asked = {way: to for way, (setting, to) in (led or {}).items() if getattr(settings, setting)}
        if isinstance(ways, list | tuple):
            return [asked.get(str(way), way) for way in cast("list[Any]", ways)]
        return asked.get(str(ways), ways)

    def route(state: Any, config: RunnableConfig) -> Any:
        runtime, settings = given(state)
        with router.explain_missing_key(f"router {name}", state):
            found = router.call(state, runtime, config)
            found = run_in_background(found) if router.is_async else found
        return where(found, settings)

    async def aroute(state: Any, config: RunnableConfig) -> Any:
        runtime, settings = given(state)
        with router.explain_missing_key(f"router {name}", state):
            found = router.call(state, runtime, config)
            found = await found if router.is_async else found
        return where(found, settings)

    # From these LangGraph reads what the router is shown of the state, and where it leads without a path map.
    route.__annotations__ |= {"state": router.schema, "return": router.returns}
    return (RunnableLambda if router.is_async else _SyncRouter)(route, aroute, name=name)


def function_of(path: Runnable[Any, Any], state: type[Any]) -> StepFunction:
    """Return the function of a router that is a runnable itself."""

    async def route(state: Any, config: RunnableConfig) -> Any:
        return await path.ainvoke(state, config)

    return StepFunction.of("router", route, state)
