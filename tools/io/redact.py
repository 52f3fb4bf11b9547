"""Remove keys from text before anyone sees it."""

import os
import re
from urllib.parse import quote_plus

from pydantic import SecretStr

_SHAPES = re.compile(
    r"(?i)(?P<lead>\bbearer\s+|\bapi[-_]?key['\"]?\s*[=:]\s*['\"]?|[?&][\w-]*(?:key|token|secret|sig)=)[^\s'\"@,;&]+"
    r"|(?P<address>://[^/\s:@]*:)[^/\s]+(?=@)"
    r"|\b(?P<prefixed>(?:sk|pk|hf|gsk|xai|lsv2)[-_][\w*.-]{8,})"
)
_WORD = re.compile(r"(?:[a-z]{0,15}(?:[A-Z][a-z]{1,15}){0,4}|[A-Z]{1,15})(?:\d\d?|(?:19|20)\d\d)?|(?:19|20)\d{6}")
"""Parts of names: words, also with a version number or a year at the end, and dates."""
_SECRET_NAME = re.compile(r"(?i)(?:KEY|TOKEN|SECRET|PASSWORD|AUTH|AUTHORIZATION)$")
CUSTOM_HEADERS = "OPENAI_CUSTOM_HEADERS"


def redact(text: str, model: object | None = None) -> str:
    """Replace keys with `[key]`: those in the environment, those held by the model, and whatever looks like one."""
    held = [value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr)] if model else []
    set_outside = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    headers = [line.partition(":") for line in os.environ.get(CUSTOM_HEADERS, "").split("\n")]
    sent = [(name.strip(), value.strip().rpartition(" ")[2]) for name, _, value in headers]
    set_outside += [value for name, value in sent if _SECRET_NAME.search(name) or _looks_random(value)]
    secrets = {secret for secret in {*held, *set_outside} if len(secret) >= 6}
    for secret in sorted({*secrets, *map(quote_plus, secrets)}, key=len, reverse=True):
        text = text.replace(secret, "[key]")
    return _SHAPES.sub(_without_key, text)


def _without_key(match: re.Match[str]) -> str:
    if match["prefixed"] and not _looks_random(match["prefixed"]):
        return match[0]
    return f"{match['lead'] or match['address'] or ''}[key]"


def _looks_random(name: str) -> bool:
    """Return whether a name is a key: masked, or with a long part that is not a word, unlike `pk-documents-2020`."""
    parts = re.split(r"[-_.]", name)
    return "**" in name or any(len(part) >= 8 and not _WORD.fullmatch(part) for part in parts)
