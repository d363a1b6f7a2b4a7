"""Configuration of topics, brokers, groups.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, Message, Structure


class AlterConfigsRequest(Message):
    """Kafka's AlterConfigsRequest (request), API key 33, versions 0-2, flexible 2+, listeners broker and
    controller.

    - resources: []AlterConfigsResource, versions 0+
    - validate_only: bool, versions 0+; checks the request and changes nothing
    """

    class AlterableConfig(Structure):
        """Structure AlterableConfig, versions 0+.

        - name: string, versions 0+, map key
        - value: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "name",
            "value",
        )

        def __init__(
            self,
            name: str = "",
            value: str | None = "",
        ) -> None:
            self.name = name
            self.value = value
            self.unknown_tagged_fields = None

    class AlterConfigsResource(Structure):
        """Structure AlterConfigsResource, versions 0+.

        - resource_type: int8, versions 0+, map key
        - resource_name: string, versions 0+, map key
        - configs: []AlterableConfig, versions 0+
        """

        __slots__ = (
            "resource_type",
            "resource_name",
            "configs",
        )

        def __init__(
            self,
            resource_type: int = 0,
            resource_name: str = "",
            configs: list[AlterConfigsRequest.AlterableConfig] | None = None,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configs = [] if configs is None else configs
            self.unknown_tagged_fields = None

    __slots__ = (
        "resources",
        "validate_only",
    )

    NAME: ClassVar[str] = "AlterConfigsRequest"
    API_KEY: ClassVar[int] = 33
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        resources: list[AlterConfigsRequest.AlterConfigsResource] | None = None,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is None else resources
        self.validate_only = validate_only
        self.unknown_tagged_fields = None


class AlterConfigsResponse(Message):
    """Kafka's AlterConfigsResponse (response), API key 33, versions 0-2, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - responses: []AlterConfigsResourceResponse, versions 0+
    """

    class AlterConfigsResourceResponse(Structure):
        """Structure AlterConfigsResourceResponse, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "resource_type",
            "resource_name",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "responses",
    )

    NAME: ClassVar[str] = "AlterConfigsResponse"
    API_KEY: ClassVar[int] = 33
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is None else responses
        self.unknown_tagged_fields = None


class DescribeConfigsRequest(Message):
    """Kafka's DescribeConfigsRequest (request), API key 32, versions 0-4, flexible 4+, listeners broker and
    controller.

    - resources: []DescribeConfigsResource, versions 0+
    - include_synonyms: bool, versions 1+
    - include_documentation: bool, versions 3+
    """

    class DescribeConfigsResource(Structure):
        """Structure DescribeConfigsResource, versions 0+.

        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        - configuration_keys: []string, versions 0+, nullable 0+
        """

        __slots__ = (
            "resource_type",
            "resource_name",
            "configuration_keys",
        )

        def __init__(
            self,
            resource_type: int = 0,
            resource_name: str = "",
            configuration_keys: list[str] | None = NEW_LIST,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configuration_keys = [] if configuration_keys is NEW_LIST else configuration_keys
            self.unknown_tagged_fields = None

    __slots__ = (
        "resources",
        "include_synonyms",
        "include_documentation",
    )

    NAME: ClassVar[str] = "DescribeConfigsRequest"
    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        resources: list[DescribeConfigsRequest.DescribeConfigsResource] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources = [] if resources is None else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
        self.unknown_tagged_fields = None


class DescribeConfigsResponse(Message):
    """Kafka's DescribeConfigsResponse (response), API key 32, versions 0-4, flexible 4+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - results: []DescribeConfigsResult, versions 0+
    """

    class DescribeConfigsSynonym(Structure):
        """Structure DescribeConfigsSynonym, versions 1+.

        - name: string, versions 1+
        - value: string, versions 1+, nullable 0+
        - source: int8, versions 1+
        """

        __slots__ = (
            "name",
            "value",
            "source",
        )

        def __init__(
            self,
            name: str = "",
            value: str | None = "",
            source: int = 0,
        ) -> None:
            self.name = name
            self.value = value
            self.source = source
            self.unknown_tagged_fields = None

    class DescribeConfigsResourceResult(Structure):
        """Structure DescribeConfigsResourceResult, versions 0+.

        - name: string, versions 0+
        - value: string, versions 0+, nullable 0+
        - read_only: bool, versions 0+
        - config_source: int8, versions 1+, ignorable
        - is_sensitive: bool, versions 0+
        - synonyms: []DescribeConfigsSynonym, versions 1+, ignorable
        - config_type: int8, versions 3+, ignorable
        - documentation: string, versions 3+, nullable 0+, ignorable
        - is_default: bool, versions 0
        """

        __slots__ = (
            "name",
            "value",
            "read_only",
            "config_source",
            "is_sensitive",
            "synonyms",
            "config_type",
            "documentation",
            "is_default",
        )

        def __init__(
            self,
            name: str = "",
            value: str | None = "",
            read_only: bool = False,
            config_source: int = -1,
            is_sensitive: bool = False,
            synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] | None = None,
            config_type: int = 0,
            documentation: str | None = "",
            is_default: bool = False,
        ) -> None:
            self.name = name
            self.value = value
            self.read_only = read_only
            self.config_source = config_source
            self.is_sensitive = is_sensitive
            self.synonyms = [] if synonyms is None else synonyms
            self.config_type = config_type
            self.documentation = documentation
            self.is_default = is_default
            self.unknown_tagged_fields = None

    class DescribeConfigsResult(Structure):
        """Structure DescribeConfigsResult, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        - configs: []DescribeConfigsResourceResult, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "resource_type",
            "resource_name",
            "configs",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
            configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] | None = None,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configs = [] if configs is None else configs
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "results",
    )

    NAME: ClassVar[str] = "DescribeConfigsResponse"
    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_SINCE: ClassVar[int] = 4

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResponse.DescribeConfigsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class IncrementalAlterConfigsRequest(Message):
    """Kafka's IncrementalAlterConfigsRequest (request), API key 44, versions 0-1, flexible 1+, listeners broker
    and controller.

    - resources: []AlterConfigsResource, versions 0+
    - validate_only: bool, versions 0+; checks the request and changes nothing
    """

    class AlterableConfig(Structure):
        """Structure AlterableConfig, versions 0+.

        - name: string, versions 0+, map key
        - config_operation: int8, versions 0+, map key
        - value: string, versions 0+, nullable 0+
        """

        __slots__ = (
            "name",
            "config_operation",
            "value",
        )

        def __init__(
            self,
            name: str = "",
            config_operation: int = 0,
            value: str | None = "",
        ) -> None:
            self.name = name
            self.config_operation = config_operation
            self.value = value
            self.unknown_tagged_fields = None

    class AlterConfigsResource(Structure):
        """Structure AlterConfigsResource, versions 0+.

        - resource_type: int8, versions 0+, map key
        - resource_name: string, versions 0+, map key
        - configs: []AlterableConfig, versions 0+
        """

        __slots__ = (
            "resource_type",
            "resource_name",
            "configs",
        )

        def __init__(
            self,
            resource_type: int = 0,
            resource_name: str = "",
            configs: list[IncrementalAlterConfigsRequest.AlterableConfig] | None = None,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configs = [] if configs is None else configs
            self.unknown_tagged_fields = None

    __slots__ = (
        "resources",
        "validate_only",
    )

    NAME: ClassVar[str] = "IncrementalAlterConfigsRequest"
    API_KEY: ClassVar[int] = 44
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        resources: list[IncrementalAlterConfigsRequest.AlterConfigsResource] | None = None,
        validate_only: bool = False,
    ) -> None:
        self.resources = [] if resources is None else resources
        self.validate_only = validate_only
        self.unknown_tagged_fields = None


class IncrementalAlterConfigsResponse(Message):
    """Kafka's IncrementalAlterConfigsResponse (response), API key 44, versions 0-1, flexible 1+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - responses: []AlterConfigsResourceResponse, versions 0+
    """

    class AlterConfigsResourceResponse(Structure):
        """Structure AlterConfigsResourceResponse, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "resource_type",
            "resource_name",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "responses",
    )

    NAME: ClassVar[str] = "IncrementalAlterConfigsResponse"
    API_KEY: ClassVar[int] = 44
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 1

    def __init__(
        self,
        throttle_time_ms: int = 0,
        responses: list[IncrementalAlterConfigsResponse.AlterConfigsResourceResponse] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is None else responses
        self.unknown_tagged_fields = None


class ListConfigResourcesRequest(Message):
    """Kafka's ListConfigResourcesRequest (request), API key 74, versions 0-1, flexible 0+, listeners broker.

    - resource_types: []int8, versions 1+
    """

    __slots__ = ("resource_types",)

    NAME: ClassVar[str] = "ListConfigResourcesRequest"
    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        resource_types: list[int] | None = None,
    ) -> None:
        self.resource_types = [] if resource_types is None else resource_types
        self.unknown_tagged_fields = None


class ListConfigResourcesResponse(Message):
    """Kafka's ListConfigResourcesResponse (response), API key 74, versions 0-1, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - config_resources: []ConfigResource, versions 0+
    """

    class ConfigResource(Structure):
        """Structure ConfigResource, versions 0+.

        - resource_name: string, versions 0+
        - resource_type: int8, versions 1+, ignorable
        """

        __slots__ = (
            "resource_name",
            "resource_type",
        )

        def __init__(
            self,
            resource_name: str = "",
            resource_type: int = 16,
        ) -> None:
            self.resource_name = resource_name
            self.resource_type = resource_type
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "config_resources",
    )

    NAME: ClassVar[str] = "ListConfigResourcesResponse"
    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ListConfigResourcesResponse.ConfigResource] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources = [] if config_resources is None else config_resources
        self.unknown_tagged_fields = None
