"""Authentication, access control, delegation tokens.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import NEW_LIST, Message, Structure


class AlterUserScramCredentialsRequest(Message):
    """Kafka's AlterUserScramCredentialsRequest (request), API key 51, versions 0, flexible 0+, listeners broker
    and controller.

    - deletions: []ScramCredentialDeletion, versions 0+
    - upsertions: []ScramCredentialUpsertion, versions 0+
    """

    class ScramCredentialDeletion(Structure):
        """Structure ScramCredentialDeletion, versions 0+.

        - name: string, versions 0+
        - mechanism: int8, versions 0+
        """

        __slots__ = (
            "name",
            "mechanism",
        )

        def __init__(
            self,
            name: str = "",
            mechanism: int = 0,
        ) -> None:
            self.name = name
            self.mechanism = mechanism
            self.unknown_tagged_fields = None

    class ScramCredentialUpsertion(Structure):
        """Structure ScramCredentialUpsertion, versions 0+.

        - name: string, versions 0+
        - mechanism: int8, versions 0+
        - iterations: int32, versions 0+
        - salt: bytes, versions 0+
        - salted_password: bytes, versions 0+
        """

        __slots__ = (
            "name",
            "mechanism",
            "iterations",
            "salt",
            "salted_password",
        )

        def __init__(
            self,
            name: str = "",
            mechanism: int = 0,
            iterations: int = 0,
            salt: bytes = b"",
            salted_password: bytes = b"",
        ) -> None:
            self.name = name
            self.mechanism = mechanism
            self.iterations = iterations
            self.salt = salt
            self.salted_password = salted_password
            self.unknown_tagged_fields = None

    __slots__ = (
        "deletions",
        "upsertions",
    )

    NAME: ClassVar[str] = "AlterUserScramCredentialsRequest"
    API_KEY: ClassVar[int] = 51
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] | None = None,
        upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] | None = None,
    ) -> None:
        self.deletions = [] if deletions is None else deletions
        self.upsertions = [] if upsertions is None else upsertions
        self.unknown_tagged_fields = None


class AlterUserScramCredentialsResponse(Message):
    """Kafka's AlterUserScramCredentialsResponse (response), API key 51, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - results: []AlterUserScramCredentialsResult, versions 0+
    """

    class AlterUserScramCredentialsResult(Structure):
        """Structure AlterUserScramCredentialsResult, versions 0+.

        - user: string, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "user",
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            user: str = "",
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.user = user
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "results",
    )

    NAME: ClassVar[str] = "AlterUserScramCredentialsResponse"
    API_KEY: ClassVar[int] = 51
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class CreateAclsRequest(Message):
    """Kafka's CreateAclsRequest (request), API key 30, versions 0-3, flexible 2+, listeners broker and controller.

    - creations: []AclCreation, versions 0+
    """

    class AclCreation(Structure):
        """Structure AclCreation, versions 0+.

        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        - resource_pattern_type: int8, versions 1+
        - principal: string, versions 0+
        - host: string, versions 0+
        - operation: int8, versions 0+
        - permission_type: int8, versions 0+
        """

        __slots__ = (
            "resource_type",
            "resource_name",
            "resource_pattern_type",
            "principal",
            "host",
            "operation",
            "permission_type",
        )

        def __init__(
            self,
            resource_type: int = 0,
            resource_name: str = "",
            resource_pattern_type: int = 3,
            principal: str = "",
            host: str = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.resource_pattern_type = resource_pattern_type
            self.principal = principal
            self.host = host
            self.operation = operation
            self.permission_type = permission_type
            self.unknown_tagged_fields = None

    __slots__ = ("creations",)

    NAME: ClassVar[str] = "CreateAclsRequest"
    API_KEY: ClassVar[int] = 30
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        creations: list[CreateAclsRequest.AclCreation] | None = None,
    ) -> None:
        self.creations = [] if creations is None else creations
        self.unknown_tagged_fields = None


class CreateAclsResponse(Message):
    """Kafka's CreateAclsResponse (response), API key 30, versions 0-3, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - results: []AclCreationResult, versions 0+
    """

    class AclCreationResult(Structure):
        """Structure AclCreationResult, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        """

        __slots__ = (
            "error_code",
            "error_message",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "results",
    )

    NAME: ClassVar[str] = "CreateAclsResponse"
    API_KEY: ClassVar[int] = 30
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        results: list[CreateAclsResponse.AclCreationResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class CreateDelegationTokenRequest(Message):
    """Kafka's CreateDelegationTokenRequest (request), API key 38, versions 0-3, flexible 2+, listeners broker and
    controller.

    - owner_principal_type: string, versions 3+, nullable 3+
    - owner_principal_name: string, versions 3+, nullable 3+
    - renewers: []CreatableRenewers, versions 0+
    - max_lifetime_ms: int64, versions 0+
    """

    class CreatableRenewers(Structure):
        """Structure CreatableRenewers, versions 0+.

        - principal_type: string, versions 0+
        - principal_name: string, versions 0+
        """

        __slots__ = (
            "principal_type",
            "principal_name",
        )

        def __init__(
            self,
            principal_type: str = "",
            principal_name: str = "",
        ) -> None:
            self.principal_type = principal_type
            self.principal_name = principal_name
            self.unknown_tagged_fields = None

    __slots__ = (
        "owner_principal_type",
        "owner_principal_name",
        "renewers",
        "max_lifetime_ms",
    )

    NAME: ClassVar[str] = "CreateDelegationTokenRequest"
    API_KEY: ClassVar[int] = 38
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        owner_principal_type: str | None = "",
        owner_principal_name: str | None = "",
        renewers: list[CreateDelegationTokenRequest.CreatableRenewers] | None = None,
        max_lifetime_ms: int = 0,
    ) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is None else renewers
        self.max_lifetime_ms = max_lifetime_ms
        self.unknown_tagged_fields = None


class CreateDelegationTokenResponse(Message):
    """Kafka's CreateDelegationTokenResponse (response), API key 38, versions 0-3, flexible 2+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - principal_type: string, versions 0+
    - principal_name: string, versions 0+
    - token_requester_principal_type: string, versions 3+
    - token_requester_principal_name: string, versions 3+
    - issue_timestamp_ms: int64, versions 0+
    - expiry_timestamp_ms: int64, versions 0+
    - max_timestamp_ms: int64, versions 0+
    - token_id: string, versions 0+
    - hmac: bytes, versions 0+
    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    """

    __slots__ = (
        "error_code",
        "principal_type",
        "principal_name",
        "token_requester_principal_type",
        "token_requester_principal_name",
        "issue_timestamp_ms",
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "token_id",
        "hmac",
        "throttle_time_ms",
    )

    NAME: ClassVar[str] = "CreateDelegationTokenResponse"
    API_KEY: ClassVar[int] = 38
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        error_code: int = 0,
        principal_type: str = "",
        principal_name: str = "",
        token_requester_principal_type: str = "",
        token_requester_principal_name: str = "",
        issue_timestamp_ms: int = 0,
        expiry_timestamp_ms: int = 0,
        max_timestamp_ms: int = 0,
        token_id: str = "",
        hmac: bytes = b"",
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = None


class DefaultPrincipalData(Message):
    """Kafka's DefaultPrincipalData (data), versions 0, flexible 0+.

    - type: string, versions 0+
    - name: string, versions 0+
    - token_authenticated: bool, versions 0+
    """

    __slots__ = (
        "type",
        "name",
        "token_authenticated",
    )

    NAME: ClassVar[str] = "DefaultPrincipalData"
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
        self.unknown_tagged_fields = None


class DeleteAclsRequest(Message):
    """Kafka's DeleteAclsRequest (request), API key 31, versions 0-3, flexible 2+, listeners broker and controller.

    - filters: []DeleteAclsFilter, versions 0+
    """

    class DeleteAclsFilter(Structure):
        """Structure DeleteAclsFilter, versions 0+.

        - resource_type_filter: int8, versions 0+
        - resource_name_filter: string, versions 0+, nullable 0+
        - pattern_type_filter: int8, versions 1+
        - principal_filter: string, versions 0+, nullable 0+
        - host_filter: string, versions 0+, nullable 0+
        - operation: int8, versions 0+
        - permission_type: int8, versions 0+
        """

        __slots__ = (
            "resource_type_filter",
            "resource_name_filter",
            "pattern_type_filter",
            "principal_filter",
            "host_filter",
            "operation",
            "permission_type",
        )

        def __init__(
            self,
            resource_type_filter: int = 0,
            resource_name_filter: str | None = "",
            pattern_type_filter: int = 3,
            principal_filter: str | None = "",
            host_filter: str | None = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.resource_type_filter = resource_type_filter
            self.resource_name_filter = resource_name_filter
            self.pattern_type_filter = pattern_type_filter
            self.principal_filter = principal_filter
            self.host_filter = host_filter
            self.operation = operation
            self.permission_type = permission_type
            self.unknown_tagged_fields = None

    __slots__ = ("filters",)

    NAME: ClassVar[str] = "DeleteAclsRequest"
    API_KEY: ClassVar[int] = 31
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        filters: list[DeleteAclsRequest.DeleteAclsFilter] | None = None,
    ) -> None:
        self.filters = [] if filters is None else filters
        self.unknown_tagged_fields = None


class DeleteAclsResponse(Message):
    """Kafka's DeleteAclsResponse (response), API key 31, versions 0-3, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - filter_results: []DeleteAclsFilterResult, versions 0+
    """

    class DeleteAclsMatchingAcl(Structure):
        """Structure DeleteAclsMatchingAcl, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        - pattern_type: int8, versions 1+
        - principal: string, versions 0+
        - host: string, versions 0+
        - operation: int8, versions 0+
        - permission_type: int8, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "resource_type",
            "resource_name",
            "pattern_type",
            "principal",
            "host",
            "operation",
            "permission_type",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
            pattern_type: int = 3,
            principal: str = "",
            host: str = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.pattern_type = pattern_type
            self.principal = principal
            self.host = host
            self.operation = operation
            self.permission_type = permission_type
            self.unknown_tagged_fields = None

    class DeleteAclsFilterResult(Structure):
        """Structure DeleteAclsFilterResult, versions 0+.

        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - matching_acls: []DeleteAclsMatchingAcl, versions 0+
        """

        __slots__ = (
            "error_code",
            "error_message",
            "matching_acls",
        )

        def __init__(
            self,
            error_code: int = 0,
            error_message: str | None = "",
            matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] | None = None,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.matching_acls = [] if matching_acls is None else matching_acls
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "filter_results",
    )

    NAME: ClassVar[str] = "DeleteAclsResponse"
    API_KEY: ClassVar[int] = 31
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results = [] if filter_results is None else filter_results
        self.unknown_tagged_fields = None


class DescribeAclsRequest(Message):
    """Kafka's DescribeAclsRequest (request), API key 29, versions 0-3, flexible 2+, listeners broker and
    controller.

    - resource_type_filter: int8, versions 0+
    - resource_name_filter: string, versions 0+, nullable 0+
    - pattern_type_filter: int8, versions 1+
    - principal_filter: string, versions 0+, nullable 0+
    - host_filter: string, versions 0+, nullable 0+
    - operation: int8, versions 0+
    - permission_type: int8, versions 0+
    """

    __slots__ = (
        "resource_type_filter",
        "resource_name_filter",
        "pattern_type_filter",
        "principal_filter",
        "host_filter",
        "operation",
        "permission_type",
    )

    NAME: ClassVar[str] = "DescribeAclsRequest"
    API_KEY: ClassVar[int] = 29
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = None


class DescribeAclsResponse(Message):
    """Kafka's DescribeAclsResponse (response), API key 29, versions 0-3, flexible 2+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - resources: []DescribeAclsResource, versions 0+
    """

    class AclDescription(Structure):
        """Structure AclDescription, versions 0+.

        - principal: string, versions 0+
        - host: string, versions 0+
        - operation: int8, versions 0+
        - permission_type: int8, versions 0+
        """

        __slots__ = (
            "principal",
            "host",
            "operation",
            "permission_type",
        )

        def __init__(
            self,
            principal: str = "",
            host: str = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.principal = principal
            self.host = host
            self.operation = operation
            self.permission_type = permission_type
            self.unknown_tagged_fields = None

    class DescribeAclsResource(Structure):
        """Structure DescribeAclsResource, versions 0+.

        - resource_type: int8, versions 0+
        - resource_name: string, versions 0+
        - pattern_type: int8, versions 1+
        - acls: []AclDescription, versions 0+
        """

        __slots__ = (
            "resource_type",
            "resource_name",
            "pattern_type",
            "acls",
        )

        def __init__(
            self,
            resource_type: int = 0,
            resource_name: str = "",
            pattern_type: int = 3,
            acls: list[DescribeAclsResponse.AclDescription] | None = None,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.pattern_type = pattern_type
            self.acls = [] if acls is None else acls
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "resources",
    )

    NAME: ClassVar[str] = "DescribeAclsResponse"
    API_KEY: ClassVar[int] = 29
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResponse.DescribeAclsResource] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources = [] if resources is None else resources
        self.unknown_tagged_fields = None


class DescribeDelegationTokenRequest(Message):
    """Kafka's DescribeDelegationTokenRequest (request), API key 41, versions 0-3, flexible 2+, listeners broker
    and controller.

    - owners: []DescribeDelegationTokenOwner, versions 0+, nullable 0+
    """

    class DescribeDelegationTokenOwner(Structure):
        """Structure DescribeDelegationTokenOwner, versions 0+.

        - principal_type: string, versions 0+
        - principal_name: string, versions 0+
        """

        __slots__ = (
            "principal_type",
            "principal_name",
        )

        def __init__(
            self,
            principal_type: str = "",
            principal_name: str = "",
        ) -> None:
            self.principal_type = principal_type
            self.principal_name = principal_name
            self.unknown_tagged_fields = None

    __slots__ = ("owners",)

    NAME: ClassVar[str] = "DescribeDelegationTokenRequest"
    API_KEY: ClassVar[int] = 41
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = NEW_LIST,
    ) -> None:
        self.owners = [] if owners is NEW_LIST else owners
        self.unknown_tagged_fields = None


class DescribeDelegationTokenResponse(Message):
    """Kafka's DescribeDelegationTokenResponse (response), API key 41, versions 0-3, flexible 2+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - tokens: []DescribedDelegationToken, versions 0+
    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    """

    class DescribedDelegationTokenRenewer(Structure):
        """Structure DescribedDelegationTokenRenewer, versions 0+.

        - principal_type: string, versions 0+
        - principal_name: string, versions 0+
        """

        __slots__ = (
            "principal_type",
            "principal_name",
        )

        def __init__(
            self,
            principal_type: str = "",
            principal_name: str = "",
        ) -> None:
            self.principal_type = principal_type
            self.principal_name = principal_name
            self.unknown_tagged_fields = None

    class DescribedDelegationToken(Structure):
        """Structure DescribedDelegationToken, versions 0+.

        - principal_type: string, versions 0+
        - principal_name: string, versions 0+
        - token_requester_principal_type: string, versions 3+
        - token_requester_principal_name: string, versions 3+
        - issue_timestamp: int64, versions 0+
        - expiry_timestamp: int64, versions 0+
        - max_timestamp: int64, versions 0+
        - token_id: string, versions 0+
        - hmac: bytes, versions 0+
        - renewers: []DescribedDelegationTokenRenewer, versions 0+
        """

        __slots__ = (
            "principal_type",
            "principal_name",
            "token_requester_principal_type",
            "token_requester_principal_name",
            "issue_timestamp",
            "expiry_timestamp",
            "max_timestamp",
            "token_id",
            "hmac",
            "renewers",
        )

        def __init__(
            self,
            principal_type: str = "",
            principal_name: str = "",
            token_requester_principal_type: str = "",
            token_requester_principal_name: str = "",
            issue_timestamp: int = 0,
            expiry_timestamp: int = 0,
            max_timestamp: int = 0,
            token_id: str = "",
            hmac: bytes = b"",
            renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] | None = None,
        ) -> None:
            self.principal_type = principal_type
            self.principal_name = principal_name
            self.token_requester_principal_type = token_requester_principal_type
            self.token_requester_principal_name = token_requester_principal_name
            self.issue_timestamp = issue_timestamp
            self.expiry_timestamp = expiry_timestamp
            self.max_timestamp = max_timestamp
            self.token_id = token_id
            self.hmac = hmac
            self.renewers = [] if renewers is None else renewers
            self.unknown_tagged_fields = None

    __slots__ = (
        "error_code",
        "tokens",
        "throttle_time_ms",
    )

    NAME: ClassVar[str] = "DescribeDelegationTokenResponse"
    API_KEY: ClassVar[int] = 41
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        error_code: int = 0,
        tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] | None = None,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is None else tokens
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = None


class DescribeUserScramCredentialsRequest(Message):
    """Kafka's DescribeUserScramCredentialsRequest (request), API key 50, versions 0, flexible 0+, listeners broker
    and controller.

    - users: []UserName, versions 0+, nullable 0+
    """

    class UserName(Structure):
        """Structure UserName, versions 0+.

        - name: string, versions 0+
        """

        __slots__ = ("name",)

        def __init__(
            self,
            name: str = "",
        ) -> None:
            self.name = name
            self.unknown_tagged_fields = None

    __slots__ = ("users",)

    NAME: ClassVar[str] = "DescribeUserScramCredentialsRequest"
    API_KEY: ClassVar[int] = 50
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        users: list[DescribeUserScramCredentialsRequest.UserName] | None = NEW_LIST,
    ) -> None:
        self.users = [] if users is NEW_LIST else users
        self.unknown_tagged_fields = None


class DescribeUserScramCredentialsResponse(Message):
    """Kafka's DescribeUserScramCredentialsResponse (response), API key 50, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - results: []DescribeUserScramCredentialsResult, versions 0+
    """

    class CredentialInfo(Structure):
        """Structure CredentialInfo, versions 0+.

        - mechanism: int8, versions 0+
        - iterations: int32, versions 0+
        """

        __slots__ = (
            "mechanism",
            "iterations",
        )

        def __init__(
            self,
            mechanism: int = 0,
            iterations: int = 0,
        ) -> None:
            self.mechanism = mechanism
            self.iterations = iterations
            self.unknown_tagged_fields = None

    class DescribeUserScramCredentialsResult(Structure):
        """Structure DescribeUserScramCredentialsResult, versions 0+.

        - user: string, versions 0+
        - error_code: int16, versions 0+; an ErrorCode, 0 for success
        - error_message: string, versions 0+, nullable 0+; a text for people
        - credential_infos: []CredentialInfo, versions 0+
        """

        __slots__ = (
            "user",
            "error_code",
            "error_message",
            "credential_infos",
        )

        def __init__(
            self,
            user: str = "",
            error_code: int = 0,
            error_message: str | None = "",
            credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] | None = None,
        ) -> None:
            self.user = user
            self.error_code = error_code
            self.error_message = error_message
            self.credential_infos = [] if credential_infos is None else credential_infos
            self.unknown_tagged_fields = None

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "error_message",
        "results",
    )

    NAME: ClassVar[str] = "DescribeUserScramCredentialsResponse"
    API_KEY: ClassVar[int] = 50
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is None else results
        self.unknown_tagged_fields = None


class ExpireDelegationTokenRequest(Message):
    """Kafka's ExpireDelegationTokenRequest (request), API key 40, versions 0-2, flexible 2+, listeners broker and
    controller.

    - hmac: bytes, versions 0+
    - expiry_time_period_ms: int64, versions 0+
    """

    __slots__ = (
        "hmac",
        "expiry_time_period_ms",
    )

    NAME: ClassVar[str] = "ExpireDelegationTokenRequest"
    API_KEY: ClassVar[int] = 40
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms
        self.unknown_tagged_fields = None


class ExpireDelegationTokenResponse(Message):
    """Kafka's ExpireDelegationTokenResponse (response), API key 40, versions 0-2, flexible 2+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - expiry_timestamp_ms: int64, versions 0+
    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    """

    __slots__ = (
        "error_code",
        "expiry_timestamp_ms",
        "throttle_time_ms",
    )

    NAME: ClassVar[str] = "ExpireDelegationTokenResponse"
    API_KEY: ClassVar[int] = 40
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = None


class RenewDelegationTokenRequest(Message):
    """Kafka's RenewDelegationTokenRequest (request), API key 39, versions 0-2, flexible 2+, listeners broker and
    controller.

    - hmac: bytes, versions 0+
    - renew_period_ms: int64, versions 0+
    """

    __slots__ = (
        "hmac",
        "renew_period_ms",
    )

    NAME: ClassVar[str] = "RenewDelegationTokenRequest"
    API_KEY: ClassVar[int] = 39
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        hmac: bytes = b"",
        renew_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.renew_period_ms = renew_period_ms
        self.unknown_tagged_fields = None


class RenewDelegationTokenResponse(Message):
    """Kafka's RenewDelegationTokenResponse (response), API key 39, versions 0-2, flexible 2+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - expiry_timestamp_ms: int64, versions 0+
    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    """

    __slots__ = (
        "error_code",
        "expiry_timestamp_ms",
        "throttle_time_ms",
    )

    NAME: ClassVar[str] = "RenewDelegationTokenResponse"
    API_KEY: ClassVar[int] = 39
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = None


class SaslAuthenticateRequest(Message):
    """Kafka's SaslAuthenticateRequest (request), API key 36, versions 0-2, flexible 2+, listeners broker and
    controller.

    - auth_bytes: bytes, versions 0+
    """

    __slots__ = ("auth_bytes",)

    NAME: ClassVar[str] = "SaslAuthenticateRequest"
    API_KEY: ClassVar[int] = 36
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        auth_bytes: bytes = b"",
    ) -> None:
        self.auth_bytes = auth_bytes
        self.unknown_tagged_fields = None


class SaslAuthenticateResponse(Message):
    """Kafka's SaslAuthenticateResponse (response), API key 36, versions 0-2, flexible 2+.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - error_message: string, versions 0+, nullable 0+; a text for people
    - auth_bytes: bytes, versions 0+
    - session_lifetime_ms: int64, versions 1+, ignorable
    """

    __slots__ = (
        "error_code",
        "error_message",
        "auth_bytes",
        "session_lifetime_ms",
    )

    NAME: ClassVar[str] = "SaslAuthenticateResponse"
    API_KEY: ClassVar[int] = 36
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_SINCE: ClassVar[int] = 2

    def __init__(
        self,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
        self.unknown_tagged_fields = None


class SaslHandshakeRequest(Message):
    """Kafka's SaslHandshakeRequest (request), API key 17, versions 0-1, listeners broker and controller.

    - mechanism: string, versions 0+
    """

    __slots__ = ("mechanism",)

    NAME: ClassVar[str] = "SaslHandshakeRequest"
    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism
        self.unknown_tagged_fields = None


class SaslHandshakeResponse(Message):
    """Kafka's SaslHandshakeResponse (response), API key 17, versions 0-1.

    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - mechanisms: []string, versions 0+
    """

    __slots__ = (
        "error_code",
        "mechanisms",
    )

    NAME: ClassVar[str] = "SaslHandshakeResponse"
    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_SINCE: ClassVar[int] = 32767

    def __init__(
        self,
        error_code: int = 0,
        mechanisms: list[str] | None = None,
    ) -> None:
        self.error_code = error_code
        self.mechanisms = [] if mechanisms is None else mechanisms
        self.unknown_tagged_fields = None
