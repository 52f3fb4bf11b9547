"""From `web:ENGINE?option=value&…` to the retriever."""

import os
from functools import cache
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field, ValidationError

from hopgraph.state import SpecError
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.passage_retriever import IndexRetriever
from hopgraph.tools.retrieval.web.community_engine import make_community_engine
from hopgraph.tools.retrieval.web.http_engines import KEY_VARIABLE, SERPER, serper, wikipedia
from hopgraph.tools.retrieval.web.web_index import WebCache, WebEngine, WebIndex

VALID_WEB_SPECS = (
    "web:serper (Google; its key in SERPER_API_KEY), web:wikipedia, web:wikipedia?lang=de, "
    "web:community:CLASS (a retriever of langchain-community, as ArxivRetriever, or DuckDuckGoSearchAPIWrapper)"
)
_DAY = 86_400.0

Seconds = Annotated[float, Field(ge=0.1, le=300, description="a number from 0.1 to 300, in seconds")]


class WebOptions(BaseModel, extra="forbid"):
    """The options of every web search."""

    timeout: Seconds = 10.0
    cache: Path | None = Field(None, description="a folder, to keep results in")
    cache_days: float = Field(30.0, ge=0, le=36_500, description="a number from 0 to 36500")


class CommunityOptions(WebOptions, extra="allow"):
    """The options of `web:community:CLASS`; all others are fields of the class."""

    timeout: Seconds = 60.0


class WikipediaOptions(WebOptions):
    """The options of `web:wikipedia`."""

    lang: str = Field("en", pattern=r"^[a-z]{2,3}(?:-[a-zA-Z]{2,8})*$", description="a language code as en, de or zh")
    base_url: str = Field(
        "",
        pattern=r"^https?://(?:\[[0-9a-fA-F:.]+\]|[^\[\]/\s]+)",
        description="the address of a server with the same interface, as https://search.example.org",
    )
    retries: int = Field(3, ge=0, le=20, description="a number from 0 to 20")


class SerperOptions(WikipediaOptions):
    """The options of `web:serper`."""

    country: str = Field("us", pattern=r"^[a-z]{2}$", description="a country code as us or de")


_OPTIONS = {"serper": SerperOptions, "wikipedia": WikipediaOptions, "community": CommunityOptions}


@cache
def resolve_web(spec: str) -> IndexRetriever:
    """Return the retriever of a spec; the same object for the same spec. Nothing is sent yet.

    Raises:
        SpecError: an unknown engine, an option that is unknown or out of range, or no key where one is needed.
        SettingsError: the cache cannot be written.
    """
    name, _, query = spec.removeprefix("web:").partition("?")
    kind, _, class_name = name.partition(":")
    if kind not in _OPTIONS or bool(class_name) != (kind == "community"):
        raise SpecError(f"no web search is called {name!r:.40}; valid: {VALID_WEB_SPECS}")
    given = dict(parse_qsl(query, keep_blank_values=True))
    if not given.get("cache", "none"):
        del given["cache"]  # an empty folder means no cache
    try:
        options = _OPTIONS[kind].model_validate(given)
    except ValidationError as error:
        option, valid = str(error.errors()[0]["loc"][0]), _OPTIONS[kind].model_fields
        if option not in valid:
            problem = f"option {option!r:.40} of {redact(spec)!r} is unknown; valid: {', '.join(valid)}"
        else:
            problem = f"{option} of {redact(spec)!r} must be {valid[option].description}, got {given[option]!r:.40}"
        raise SpecError(problem) from None
    if kind == "serper":
        _check_key(spec, needed=not given.get("base_url"))
    cache = WebCache(options.cache.expanduser(), options.cache_days * _DAY) if options.cache else None
    return IndexRetriever(index=WebIndex(_make_engine(options, class_name), cache), k=10)


def _check_key(spec: str, *, needed: bool) -> None:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if needed and not key:
        raise SpecError(f"{redact(spec)!r} needs a key of serper.dev: set the environment variable {KEY_VARIABLE}")
    if not key.isascii() or not key.isprintable():
        raise SpecError(f"the environment variable {KEY_VARIABLE} holds characters that no key has")


def _make_engine(options: WebOptions, class_name: str) -> WebEngine:
    if isinstance(options, SerperOptions):
        url = options.base_url or SERPER
        return serper(url, options.timeout, options.retries, options.country, options.lang)
    if isinstance(options, WikipediaOptions):
        url = options.base_url or f"https://{options.lang}.wikipedia.org/w/api.php"
        return wikipedia(url, options.timeout, options.retries)
    return make_community_engine(class_name, cast("dict[str, str]", options.model_extra or {}), options.timeout)
