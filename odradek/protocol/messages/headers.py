"""The headers before each request and response.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import Message


class RequestHeader(Message):
    """Kafka's RequestHeader (header), versions 1-2, flexible 2+.

    - request_api_key: int16, versions 0+
    - request_api_version: int16, versions 0+
    - correlation_id: int32, versions 0+
    - client_id: string, versions 1+, nullable 1+
    """

    __slots__ = (
        "request_api_key",
        "request_api_version",
        "correlation_id",
        "client_id",
    )

    NAME: ClassVar[str] = "RequestHeader"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.unknown_tagged_fields = None


class ResponseHeader(Message):
    """Kafka's ResponseHeader (header), versions 0-1, flexible 1+.

    - correlation_id: int32, versions 0+
    """

    __slots__ = ("correlation_id",)

    NAME: ClassVar[str] = "ResponseHeader"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id
        self.unknown_tagged_fields = None
