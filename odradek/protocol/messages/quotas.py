"""Client quotas.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, Message, Structure


class AlterClientQuotasRequest(Message):
    """Kafka's AlterClientQuotasRequest (request), API key 49, versions 0-1, flexible 1+, listeners broker and
    controller.
    """

    class EntityData(Structure):
        """Structure EntityData, versions 0+."""

        entity_type: str = ""
        """string, versions 0+"""
        entity_name: str | None = ""
        """string, versions 0+, nullable 0+"""

    class OpData(Structure):
        """Structure OpData, versions 0+."""

        key: str = ""
        """string, versions 0+"""
        value: float = 0.0
        """float64, versions 0+"""
        remove: bool = False
        """bool, versions 0+"""

    class EntryData(Structure):
        """Structure EntryData, versions 0+."""

        entity: list[AlterClientQuotasRequest.EntityData] = NEW_LIST
        """[]EntityData, versions 0+"""
        ops: list[AlterClientQuotasRequest.OpData] = NEW_LIST
        """[]OpData, versions 0+"""

    NAME = "AlterClientQuotasRequest"
    API_KEY = 49
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    entries: list[AlterClientQuotasRequest.EntryData] = NEW_LIST
    """[]EntryData, versions 0+"""
    validate_only: bool = False
    """bool, versions 0+; checks the request and changes nothing"""


class AlterClientQuotasResponse(Message):
    """Kafka's AlterClientQuotasResponse (response), API key 49, versions 0-1, flexible 1+."""

    class EntityData(Structure):
        """Structure EntityData, versions 0+."""

        entity_type: str = ""
        """string, versions 0+"""
        entity_name: str | None = ""
        """string, versions 0+, nullable 0+"""

    class EntryData(Structure):
        """Structure EntryData, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        entity: list[AlterClientQuotasResponse.EntityData] = NEW_LIST
        """[]EntityData, versions 0+"""

    NAME = "AlterClientQuotasResponse"
    API_KEY = 49
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    entries: list[AlterClientQuotasResponse.EntryData] = NEW_LIST
    """[]EntryData, versions 0+"""


class DescribeClientQuotasRequest(Message):
    """Kafka's DescribeClientQuotasRequest (request), API key 48, versions 0-1, flexible 1+, listeners broker."""

    class ComponentData(Structure):
        """Structure ComponentData, versions 0+."""

        entity_type: str = ""
        """string, versions 0+"""
        match_type: int = 0
        """int8, versions 0+"""
        match: str | None = ""
        """string, versions 0+, nullable 0+"""

    NAME = "DescribeClientQuotasRequest"
    API_KEY = 48
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    components: list[DescribeClientQuotasRequest.ComponentData] = NEW_LIST
    """[]ComponentData, versions 0+"""
    strict: bool = False
    """bool, versions 0+"""


class DescribeClientQuotasResponse(Message):
    """Kafka's DescribeClientQuotasResponse (response), API key 48, versions 0-1, flexible 1+."""

    class EntityData(Structure):
        """Structure EntityData, versions 0+."""

        entity_type: str = ""
        """string, versions 0+"""
        entity_name: str | None = ""
        """string, versions 0+, nullable 0+"""

    class ValueData(Structure):
        """Structure ValueData, versions 0+."""

        key: str = ""
        """string, versions 0+"""
        value: float = 0.0
        """float64, versions 0+"""

    class EntryData(Structure):
        """Structure EntryData, versions 0+."""

        entity: list[DescribeClientQuotasResponse.EntityData] = NEW_LIST
        """[]EntityData, versions 0+"""
        values: list[DescribeClientQuotasResponse.ValueData] = NEW_LIST
        """[]ValueData, versions 0+"""

    NAME = "DescribeClientQuotasResponse"
    API_KEY = 48
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    entries: list[DescribeClientQuotasResponse.EntryData] | None = NEW_NULLABLE_LIST
    """[]EntryData, versions 0+, nullable 0+"""
