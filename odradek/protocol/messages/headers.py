"""The headers before each request and response.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import Message


class RequestHeader(Message):
    """Kafka's RequestHeader (header), versions 1-2, flexible 2+."""

    NAME = "RequestHeader"
    API_KEY = -1
    VERSIONS = (1, 2)
    FLEXIBLE_SINCE = 2

    request_api_key: int = 0
    """int16, versions 0+"""
    request_api_version: int = 0
    """int16, versions 0+"""
    correlation_id: int = 0
    """int32, versions 0+"""
    client_id: str | None = ""
    """string, versions 1+, nullable 1+"""


class ResponseHeader(Message):
    """Kafka's ResponseHeader (header), versions 0-1, flexible 1+."""

    NAME = "ResponseHeader"
    API_KEY = -1
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    correlation_id: int = 0
    """int32, versions 0+"""
