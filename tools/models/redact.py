"""Take keys out of text before anyone sees it."""

import os
import re

from langchain_core.language_models.chat_models import BaseChatModel
from pydantic import SecretStr

_SHAPES = re.compile(
    r"(?i)(?P<lead>\bbearer\s+|\bapi[-_]?key['\"]?\s*[=:]\s*['\"]?)[^\s'\"@,;&]+"
    r"|(?P<address>://[^/\s:@]*:)[^/\s@]+(?=@)"
    r"|\b(?:sk|pk|key|hf|gsk|xai|lsv2)[-_][\w*.-]{6,}"
)
_SECRET_NAME = re.compile(r"(?i)(?:KEY|TOKEN|SECRET|PASSWORD)$")


def redact(text: str, model: BaseChatModel | None = None) -> str:
    """Replace keys by `[key]`: those of the environment, those the model holds, and what looks like one."""
    for secret in _known_secrets(model):
        text = text.replace(secret, "[key]")
    return _SHAPES.sub(lambda match: f"{match['lead'] or match['address'] or ''}[key]", text)


def _known_secrets(model: BaseChatModel | None) -> list[str]:
    held = [value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr)] if model else []
    set_outside = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    return sorted((secret for secret in {*held, *set_outside} if len(secret) >= 6), key=len, reverse=True)
