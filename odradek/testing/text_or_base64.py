"""Bytes in JSON: text if they are UTF-8, otherwise base64 under another name. Pure."""

import base64
from collections.abc import Mapping
from typing import Any

SUFFIX = "_base64"


def bytes_as(name: str, value: bytes | None) -> dict[str, Any]:
    """A JSON field for bytes: text under ``name`` if they are UTF-8, otherwise base64 under ``<name>_base64``."""
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {name + SUFFIX: base64.b64encode(value).decode()}


def bytes_from(shown: Mapping[str, Any], name: str) -> bytes | None:
    """Reverses :func:`bytes_as`. Raises KeyError, ValueError, TypeError or AttributeError for anything else."""
    if name + SUFFIX in shown:
        return base64.b64decode(shown[name + SUFFIX], validate=True)
    value = shown[name]
    return None if value is None else bytes(value.encode())
