"""Client quotas.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, Message, Structure


class AlterClientQuotasRequest(Message):
    """Kafka's AlterClientQuotasRequest (request), API key 49, versions 0-1, flexible 1+, listeners broker and
    controller.

    - entries: []EntryData, versions 0+
    - validate_only: bool, versions 0+; checks the request and changes nothing
    """

    class EntityData(Structure):
        """Structure EntityData, versions 0+.

        - entity_type: string, versions 0+
        - entity_name: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "entity_type",
            "entity_name",
        )

        def __init__(
            self,
            entity_type: str = "",
            entity_name: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.entity_name = entity_name
            self.unknown_tagged_fields = None

    class OpData(Structure):
        """Structure OpData, versions 0+.

        - key: string, versions 0+
        - value: float64, versions 0+
        - remove: bool, versions 0+
        """

        __slots__ = (
            "key",
            "value",
            "remove",
        )

        def __init__(
            self,
            key: str = "",
            value: float = 0.0,
            remove: bool = False,
        ) -> None:
            self.key = key
            self.value = value
            self.remove = remove
            self.unknown_tagged_fields = None

    class EntryData(Structure):
        """Structure EntryData, versions 0+.

        - entity: []EntityData, versions 0+
        - ops: []OpData, versions 0+
        """

        __slots__ = (
            "entity",
            "ops",
        )

        def __init__(
            self,
            entity: list[AlterClientQuotasRequest.EntityData] | None = None,
            ops: list[AlterClientQuotasRequest.OpData] | None = None,
        ) -> None:
            self.entity = [] if entity is None else entity
            self.ops = [] if ops is None else ops
            self.unknown_tagged_fields = None

    __slots__ = (
        "entries",
        "validate_only",
    )

    NAME: ClassVar[str] = "AlterClientQuotasRequest"
    API_KEY: ClassVar[int] = 49
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        entries: list[AlterClientQuotasRequest.EntryData] | None = None,
        validate_only: bool = False,
    ) -> None:
        self.entries = [] if entries is None else entries
        self.validate_only = validate_only
        self.unknown_tagged_fields = None


class AlterClientQuotasResponse(Message):
    """Kafka's AlterClientQuotasResponse (response), API key 49, versions 0-1, flexible 1+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - entries: []EntryData, versions 0+
    """

    class EntityData(Structure):
        """Structure EntityData, versions 0+.

        - entity_type: string, versions 0+
        - entity_name: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "entity_type",
            "entity_name",
        )

        def __init__(
            self,
            entity_type: str = "",
            entity_name: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.entity_name = entity_name
            self.unknown_tagged_fields = None

    class EntryData(Structure):
        """Structure EntryData, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - entity: []EntityData, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "entity",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
            entity: list[AlterClientQuotasResponse.EntityData] | None = None,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.entity = [] if entity is None else entity
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "entries",
    )

    NAME: ClassVar[str] = "AlterClientQuotasResponse"
    API_KEY: ClassVar[int] = 49
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponse.EntryData] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries = [] if entries is None else entries
        self.unknown_tagged_fields = None


class DescribeClientQuotasRequest(Message):
    """Kafka's DescribeClientQuotasRequest (request), API key 48, versions 0-1, flexible 1+, listeners broker.

    - components: []ComponentData, versions 0+
    - strict: bool, versions 0+
    """

    class ComponentData(Structure):
        """Structure ComponentData, versions 0+.

        - entity_type: string, versions 0+
        - match_type: int8, versions 0+
        - match: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "entity_type",
            "match_type",
            "match",
        )

        def __init__(
            self,
            entity_type: str = "",
            match_type: int = 0,
            match: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.match_type = match_type
            self.match = match
            self.unknown_tagged_fields = None

    __slots__ = (
        "components",
        "strict",
    )

    NAME: ClassVar[str] = "DescribeClientQuotasRequest"
    API_KEY: ClassVar[int] = 48
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        components: list[DescribeClientQuotasRequest.ComponentData] | None = None,
        strict: bool = False,
    ) -> None:
        self.components = [] if components is None else components
        self.strict = strict
        self.unknown_tagged_fields = None


class DescribeClientQuotasResponse(Message):
    """Kafka's DescribeClientQuotasResponse (response), API key 48, versions 0-1, flexible 1+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - entries: []EntryData, versions 0+, nullable 0+
    """

    class EntityData(Structure):
        """Structure EntityData, versions 0+.

        - entity_type: string, versions 0+
        - entity_name: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "entity_type",
            "entity_name",
        )

        def __init__(
            self,
            entity_type: str = "",
            entity_name: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.entity_name = entity_name
            self.unknown_tagged_fields = None

    class ValueData(Structure):
        """Structure ValueData, versions 0+.

        - key: string, versions 0+
        - value: float64, versions 0+
        """

        __slots__ = (
            "key",
            "value",
        )

        def __init__(
            self,
            key: str = "",
            value: float = 0.0,
        ) -> None:
            self.key = key
            self.value = value
            self.unknown_tagged_fields = None

    class EntryData(Structure):
        """Structure EntryData, versions 0+.

        - entity: []EntityData, versions 0+
        - values: []ValueData, versions 0+
        """

        __slots__ = (
            "entity",
            "values",
        )

        def __init__(
            self,
            entity: list[DescribeClientQuotasResponse.EntityData] | None = None,
            values: list[DescribeClientQuotasResponse.ValueData] | None = None,
        ) -> None:
            self.entity = [] if entity is None else entity
            self.values = [] if values is None else values
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "entries",
    )

    NAME: ClassVar[str] = "DescribeClientQuotasResponse"
    API_KEY: ClassVar[int] = 48
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[DescribeClientQuotasResponse.EntryData] | None = NEW_LIST,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries = [] if entries is NEW_LIST else entries
        self.unknown_tagged_fields = None
