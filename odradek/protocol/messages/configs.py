"""Configuration of topics, brokers, groups.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, Message, Structure


class AlterConfigsRequest(Message):
    """Kafka's AlterConfigsRequest (request), API key 33, versions 0-2, flexible 2+, listeners broker and
    controller.
    """

    class AlterableConfig(Structure):
        """Structure AlterableConfig, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        value: str | None = ""
        """string, versions 0+, nullable 0+"""

    class AlterConfigsResource(Structure):
        """Structure AlterConfigsResource, versions 0+."""

        resource_type: int = 0
        """int8, versions 0+, map key"""
        resource_name: str = ""
        """string, versions 0+, map key"""
        configs: list[AlterConfigsRequest.AlterableConfig] = NEW_LIST
        """[]AlterableConfig, versions 0+"""

    NAME = "AlterConfigsRequest"
    API_KEY = 33
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    resources: list[AlterConfigsRequest.AlterConfigsResource] = NEW_LIST
    """[]AlterConfigsResource, versions 0+"""
    validate_only: bool = False
    """bool, versions 0+; checks the request and changes nothing"""


class AlterConfigsResponse(Message):
    """Kafka's AlterConfigsResponse (response), API key 33, versions 0-2, flexible 2+."""

    class AlterConfigsResourceResponse(Structure):
        """Structure AlterConfigsResourceResponse, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""

    NAME = "AlterConfigsResponse"
    API_KEY = 33
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = NEW_LIST
    """[]AlterConfigsResourceResponse, versions 0+"""


class DescribeConfigsRequest(Message):
    """Kafka's DescribeConfigsRequest (request), API key 32, versions 0-4, flexible 4+, listeners broker and
    controller.
    """

    class DescribeConfigsResource(Structure):
        """Structure DescribeConfigsResource, versions 0+."""

        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""
        configuration_keys: list[str] | None = NEW_NULLABLE_LIST
        """[]string, versions 0+, nullable 0+"""

    NAME = "DescribeConfigsRequest"
    API_KEY = 32
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    resources: list[DescribeConfigsRequest.DescribeConfigsResource] = NEW_LIST
    """[]DescribeConfigsResource, versions 0+"""
    include_synonyms: bool = False
    """bool, versions 1+"""
    include_documentation: bool = False
    """bool, versions 3+"""


class DescribeConfigsResponse(Message):
    """Kafka's DescribeConfigsResponse (response), API key 32, versions 0-4, flexible 4+."""

    class DescribeConfigsSynonym(Structure):
        """Structure DescribeConfigsSynonym, versions 1+."""

        name: str = ""
        """string, versions 1+"""
        value: str | None = ""
        """string, versions 1+, nullable 0+"""
        source: int = 0
        """int8, versions 1+"""

    class DescribeConfigsResourceResult(Structure):
        """Structure DescribeConfigsResourceResult, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        value: str | None = ""
        """string, versions 0+, nullable 0+"""
        read_only: bool = False
        """bool, versions 0+"""
        config_source: int = -1
        """int8, versions 1+, ignorable"""
        is_sensitive: bool = False
        """bool, versions 0+"""
        synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = NEW_LIST
        """[]DescribeConfigsSynonym, versions 1+, ignorable"""
        config_type: int = 0
        """int8, versions 3+, ignorable"""
        documentation: str | None = ""
        """string, versions 3+, nullable 0+, ignorable"""
        is_default: bool = False
        """bool, versions 0"""

    class DescribeConfigsResult(Structure):
        """Structure DescribeConfigsResult, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""
        configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = NEW_LIST
        """[]DescribeConfigsResourceResult, versions 0+"""

    NAME = "DescribeConfigsResponse"
    API_KEY = 32
    VERSIONS = (0, 4)
    FLEXIBLE_SINCE = 4

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    results: list[DescribeConfigsResponse.DescribeConfigsResult] = NEW_LIST
    """[]DescribeConfigsResult, versions 0+"""


class IncrementalAlterConfigsRequest(Message):
    """Kafka's IncrementalAlterConfigsRequest (request), API key 44, versions 0-1, flexible 1+, listeners broker
    and controller.
    """

    class AlterableConfig(Structure):
        """Structure AlterableConfig, versions 0+."""

        name: str = ""
        """string, versions 0+, map key"""
        config_operation: int = 0
        """int8, versions 0+, map key"""
        value: str | None = ""
        """string, versions 0+, nullable 0+"""

    class AlterConfigsResource(Structure):
        """Structure AlterConfigsResource, versions 0+."""

        resource_type: int = 0
        """int8, versions 0+, map key"""
        resource_name: str = ""
        """string, versions 0+, map key"""
        configs: list[IncrementalAlterConfigsRequest.AlterableConfig] = NEW_LIST
        """[]AlterableConfig, versions 0+"""

    NAME = "IncrementalAlterConfigsRequest"
    API_KEY = 44
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource] = NEW_LIST
    """[]AlterConfigsResource, versions 0+"""
    validate_only: bool = False
    """bool, versions 0+; checks the request and changes nothing"""


class IncrementalAlterConfigsResponse(Message):
    """Kafka's IncrementalAlterConfigsResponse (response), API key 44, versions 0-1, flexible 1+."""

    class AlterConfigsResourceResponse(Structure):
        """Structure AlterConfigsResourceResponse, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""

    NAME = "IncrementalAlterConfigsResponse"
    API_KEY = 44
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 1

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse] = NEW_LIST
    """[]AlterConfigsResourceResponse, versions 0+"""


class ListConfigResourcesRequest(Message):
    """Kafka's ListConfigResourcesRequest (request), API key 74, versions 0-1, flexible 0+, listeners broker."""

    NAME = "ListConfigResourcesRequest"
    API_KEY = 74
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    resource_types: list[int] = NEW_LIST
    """[]int8, versions 1+"""


class ListConfigResourcesResponse(Message):
    """Kafka's ListConfigResourcesResponse (response), API key 74, versions 0-1, flexible 0+."""

    class ConfigResource(Structure):
        """Structure ConfigResource, versions 0+."""

        resource_name: str = ""
        """string, versions 0+"""
        resource_type: int = 16
        """int8, versions 1+, ignorable"""

    NAME = "ListConfigResourcesResponse"
    API_KEY = 74
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    config_resources: list[ListConfigResourcesResponse.ConfigResource] = NEW_LIST
    """[]ConfigResource, versions 0+"""
