"""From `web:ENGINE?option=value&…` to the retriever."""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from hopgraph.state import SpecError
from hopgraph.tools.io.redact import redact
from hopgraph.tools.retrieval.web.search_apis import KEY_VARIABLE, SERPER, Serper, WebEngine, Wikipedia
from hopgraph.tools.retrieval.web.search_cache import WebCache
from hopgraph.tools.retrieval.web.search_client import WebClient
from hopgraph.tools.retrieval.web.web_retriever import WebRetriever

VALID_WEB_SPECS = "web:serper (Google; its key in SERPER_API_KEY), web:wikipedia, web:wikipedia?lang=de"
_SHARED = ("base_url", "timeout", "retries", "cache", "cache_days")
_OPTIONS = {"serper": ("country", "lang"), "wikipedia": ("lang",)}
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-zA-Z]{2,8})*")
_CACHE_DAYS = 30.0
_DAY = 86_400.0


def resolve_web(spec: str) -> WebRetriever:
    """Make the retriever of a spec; the same object again for the same spec. Nothing is sent yet.

    Options: `base_url`, of another server with the same interface; `timeout` in seconds (10); `retries` (3);
    `cache`, a folder that keeps results for `cache_days` (30), which is off unless it is named; for Wikipedia
    `lang` (en), for Serper `lang` (en) and `country` (us).

    Raises:
        SpecError: an unknown engine, an option that is unknown or out of range, or no key where one is needed.
        SettingsError: the cache cannot be written.
    """
    retriever = _resolve(spec.strip())
    engine = retriever.client.engine
    if isinstance(engine, Serper):
        _check_key(spec, engine)
    return retriever


def _check_key(spec: str, engine: Serper) -> None:
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if engine.url == SERPER and not key:
        raise SpecError(f"{redact(spec)!r} needs a key of serper.dev: set the environment variable {KEY_VARIABLE}")
    if not key.isascii() or not key.isprintable():
        raise SpecError(f"the environment variable {KEY_VARIABLE} holds characters that no key has")


@cache
def _resolve(spec: str) -> WebRetriever:
    name, _, query = spec.removeprefix("web:").partition("?")
    if name not in _OPTIONS:
        raise SpecError(f"no web search is called {name!r:.40}; valid: {VALID_WEB_SPECS}")
    options = dict(parse_qsl(query, keep_blank_values=True))
    allowed = (*_OPTIONS[name], *_SHARED)
    for option in options:
        if option not in allowed:
            raise SpecError(f"option {option!r:.40} of {redact(spec)!r} is unknown; valid: {', '.join(allowed)}")
    seconds = _number(spec, options, "timeout", 10.0, least=0.1, most=300.0)
    retries = _number(spec, options, "retries", 3.0, least=0.0, most=20.0)
    days = _number(spec, options, "cache_days", _CACHE_DAYS, least=0.0, most=36_500.0)
    folder = options.get("cache")
    return WebRetriever(
        client=WebClient(_engine(spec, name, options), seconds, int(retries)),
        cache=WebCache(Path(folder).expanduser(), days * _DAY) if folder else None,
    )


def _engine(spec: str, name: str, options: Mapping[str, str]) -> WebEngine:
    language = options.get("lang", "en")
    if not _LANGUAGE.fullmatch(language):
        raise SpecError(f"lang {language!r:.40} of {redact(spec)!r} is no language code such as en, de or zh")
    if name == "wikipedia":
        return Wikipedia(_address(spec, options, f"https://{language}.wikipedia.org/w/api.php"))
    country = options.get("country", "us")
    if not re.fullmatch(r"[a-z]{2}", country):
        raise SpecError(f"country {country!r:.40} of {redact(spec)!r} is no country code such as us or de")
    return Serper(_address(spec, options, SERPER), country, language)


def _address(spec: str, options: Mapping[str, str], default: str) -> str:
    url = options.get("base_url", default)
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise SpecError(f"base_url of {redact(spec)!r} is no address such as https://search.example.org")
    return url


def _number(spec: str, options: Mapping[str, str], name: str, default: float, *, least: float, most: float) -> float:
    text = options.get(name)
    try:
        value = default if text is None else float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise SpecError(f"{name} of {redact(spec)!r} must be a number from {least:g} to {most:g}, got {text!r:.40}")
    return value
