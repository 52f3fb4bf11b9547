"""Whose key a request carries."""

import hashlib
import hmac
from collections.abc import Mapping


def user_from_header(authorization: str, keys: Mapping[str, str]) -> str | None:
    """Return the user of a header `Authorization: Bearer KEY`; None where the key is missing or unknown.

    Args:
        authorization: the header; empty for none.
        keys: key → user.
    """
    scheme, _, key = authorization.partition(" ")
    return user_of_key(key.strip(), keys) if scheme.lower() == "bearer" else None


def user_of_key(given: str, keys: Mapping[str, str]) -> str | None:
    """Return the user of a key; None for an unknown one."""
    digest, found = _digest(given), None
    # Every key is compared, and in full: the time this takes reveals nothing about any of them.
    for key, user in keys.items():
        if hmac.compare_digest(digest, _digest(key)):
            found = user
    return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
