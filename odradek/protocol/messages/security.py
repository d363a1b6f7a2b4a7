"""Authentication, access control, delegation tokens.

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, NEW_NULLABLE_LIST, Message, Structure


class AlterUserScramCredentialsRequest(Message):
    """Kafka's AlterUserScramCredentialsRequest (request), API key 51, versions 0, flexible 0+, listeners broker
    and controller.
    """

    class ScramCredentialDeletion(Structure):
        """Structure ScramCredentialDeletion, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        mechanism: int = 0
        """int8, versions 0+"""

    class ScramCredentialUpsertion(Structure):
        """Structure ScramCredentialUpsertion, versions 0+."""

        name: str = ""
        """string, versions 0+"""
        mechanism: int = 0
        """int8, versions 0+"""
        iterations: int = 0
        """int32, versions 0+"""
        salt: bytes = b""
        """bytes, versions 0+"""
        salted_password: bytes = b""
        """bytes, versions 0+"""

    NAME = "AlterUserScramCredentialsRequest"
    API_KEY = 51
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    deletions: list[AlterUserScramCredentialsRequest.ScramCredentialDeletion] = NEW_LIST
    """[]ScramCredentialDeletion, versions 0+"""
    upsertions: list[AlterUserScramCredentialsRequest.ScramCredentialUpsertion] = NEW_LIST
    """[]ScramCredentialUpsertion, versions 0+"""


class AlterUserScramCredentialsResponse(Message):
    """Kafka's AlterUserScramCredentialsResponse (response), API key 51, versions 0, flexible 0+."""

    class AlterUserScramCredentialsResult(Structure):
        """Structure AlterUserScramCredentialsResult, versions 0+."""

        user: str = ""
        """string, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""

    NAME = "AlterUserScramCredentialsResponse"
    API_KEY = 51
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    results: list[AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult] = NEW_LIST
    """[]AlterUserScramCredentialsResult, versions 0+"""


class CreateAclsRequest(Message):
    """Kafka's CreateAclsRequest (request), API key 30, versions 0-3, flexible 2+, listeners broker and
    controller.
    """

    class AclCreation(Structure):
        """Structure AclCreation, versions 0+."""

        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""
        resource_pattern_type: int = 3
        """int8, versions 1+"""
        principal: str = ""
        """string, versions 0+"""
        host: str = ""
        """string, versions 0+"""
        operation: int = 0
        """int8, versions 0+"""
        permission_type: int = 0
        """int8, versions 0+"""

    NAME = "CreateAclsRequest"
    API_KEY = 30
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    creations: list[CreateAclsRequest.AclCreation] = NEW_LIST
    """[]AclCreation, versions 0+"""


class CreateAclsResponse(Message):
    """Kafka's CreateAclsResponse (response), API key 30, versions 0-3, flexible 2+."""

    class AclCreationResult(Structure):
        """Structure AclCreationResult, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""

    NAME = "CreateAclsResponse"
    API_KEY = 30
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    results: list[CreateAclsResponse.AclCreationResult] = NEW_LIST
    """[]AclCreationResult, versions 0+"""


class CreateDelegationTokenRequest(Message):
    """Kafka's CreateDelegationTokenRequest (request), API key 38, versions 0-3, flexible 2+, listeners broker
    and controller.
    """

    class CreatableRenewers(Structure):
        """Structure CreatableRenewers, versions 0+."""

        principal_type: str = ""
        """string, versions 0+"""
        principal_name: str = ""
        """string, versions 0+"""

    NAME = "CreateDelegationTokenRequest"
    API_KEY = 38
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    owner_principal_type: str | None = ""
    """string, versions 3+, nullable 3+"""
    owner_principal_name: str | None = ""
    """string, versions 3+, nullable 3+"""
    renewers: list[CreateDelegationTokenRequest.CreatableRenewers] = NEW_LIST
    """[]CreatableRenewers, versions 0+"""
    max_lifetime_ms: int = 0
    """int64, versions 0+"""


class CreateDelegationTokenResponse(Message):
    """Kafka's CreateDelegationTokenResponse (response), API key 38, versions 0-3, flexible 2+."""

    NAME = "CreateDelegationTokenResponse"
    API_KEY = 38
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    principal_type: str = ""
    """string, versions 0+"""
    principal_name: str = ""
    """string, versions 0+"""
    token_requester_principal_type: str = ""
    """string, versions 3+"""
    token_requester_principal_name: str = ""
    """string, versions 3+"""
    issue_timestamp_ms: int = 0
    """int64, versions 0+"""
    expiry_timestamp_ms: int = 0
    """int64, versions 0+"""
    max_timestamp_ms: int = 0
    """int64, versions 0+"""
    token_id: str = ""
    """string, versions 0+"""
    hmac: bytes = b""
    """bytes, versions 0+"""
    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""


class DefaultPrincipalData(Message):
    """Kafka's DefaultPrincipalData (data), versions 0, flexible 0+."""

    NAME = "DefaultPrincipalData"
    API_KEY = -1
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    type: str = ""
    """string, versions 0+"""
    name: str = ""
    """string, versions 0+"""
    token_authenticated: bool = False
    """bool, versions 0+"""


class DeleteAclsRequest(Message):
    """Kafka's DeleteAclsRequest (request), API key 31, versions 0-3, flexible 2+, listeners broker and
    controller.
    """

    class DeleteAclsFilter(Structure):
        """Structure DeleteAclsFilter, versions 0+."""

        resource_type_filter: int = 0
        """int8, versions 0+"""
        resource_name_filter: str | None = ""
        """string, versions 0+, nullable 0+"""
        pattern_type_filter: int = 3
        """int8, versions 1+"""
        principal_filter: str | None = ""
        """string, versions 0+, nullable 0+"""
        host_filter: str | None = ""
        """string, versions 0+, nullable 0+"""
        operation: int = 0
        """int8, versions 0+"""
        permission_type: int = 0
        """int8, versions 0+"""

    NAME = "DeleteAclsRequest"
    API_KEY = 31
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    filters: list[DeleteAclsRequest.DeleteAclsFilter] = NEW_LIST
    """[]DeleteAclsFilter, versions 0+"""


class DeleteAclsResponse(Message):
    """Kafka's DeleteAclsResponse (response), API key 31, versions 0-3, flexible 2+."""

    class DeleteAclsMatchingAcl(Structure):
        """Structure DeleteAclsMatchingAcl, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""
        pattern_type: int = 3
        """int8, versions 1+"""
        principal: str = ""
        """string, versions 0+"""
        host: str = ""
        """string, versions 0+"""
        operation: int = 0
        """int8, versions 0+"""
        permission_type: int = 0
        """int8, versions 0+"""

    class DeleteAclsFilterResult(Structure):
        """Structure DeleteAclsFilterResult, versions 0+."""

        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] = NEW_LIST
        """[]DeleteAclsMatchingAcl, versions 0+"""

    NAME = "DeleteAclsResponse"
    API_KEY = 31
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = NEW_LIST
    """[]DeleteAclsFilterResult, versions 0+"""


class DescribeAclsRequest(Message):
    """Kafka's DescribeAclsRequest (request), API key 29, versions 0-3, flexible 2+, listeners broker and
    controller.
    """

    NAME = "DescribeAclsRequest"
    API_KEY = 29
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    resource_type_filter: int = 0
    """int8, versions 0+"""
    resource_name_filter: str | None = ""
    """string, versions 0+, nullable 0+"""
    pattern_type_filter: int = 3
    """int8, versions 1+"""
    principal_filter: str | None = ""
    """string, versions 0+, nullable 0+"""
    host_filter: str | None = ""
    """string, versions 0+, nullable 0+"""
    operation: int = 0
    """int8, versions 0+"""
    permission_type: int = 0
    """int8, versions 0+"""


class DescribeAclsResponse(Message):
    """Kafka's DescribeAclsResponse (response), API key 29, versions 0-3, flexible 2+."""

    class AclDescription(Structure):
        """Structure AclDescription, versions 0+."""

        principal: str = ""
        """string, versions 0+"""
        host: str = ""
        """string, versions 0+"""
        operation: int = 0
        """int8, versions 0+"""
        permission_type: int = 0
        """int8, versions 0+"""

    class DescribeAclsResource(Structure):
        """Structure DescribeAclsResource, versions 0+."""

        resource_type: int = 0
        """int8, versions 0+"""
        resource_name: str = ""
        """string, versions 0+"""
        pattern_type: int = 3
        """int8, versions 1+"""
        acls: list[DescribeAclsResponse.AclDescription] = NEW_LIST
        """[]AclDescription, versions 0+"""

    NAME = "DescribeAclsResponse"
    API_KEY = 29
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    resources: list[DescribeAclsResponse.DescribeAclsResource] = NEW_LIST
    """[]DescribeAclsResource, versions 0+"""


class DescribeDelegationTokenRequest(Message):
    """Kafka's DescribeDelegationTokenRequest (request), API key 41, versions 0-3, flexible 2+, listeners broker
    and controller.
    """

    class DescribeDelegationTokenOwner(Structure):
        """Structure DescribeDelegationTokenOwner, versions 0+."""

        principal_type: str = ""
        """string, versions 0+"""
        principal_name: str = ""
        """string, versions 0+"""

    NAME = "DescribeDelegationTokenRequest"
    API_KEY = 41
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    owners: list[DescribeDelegationTokenRequest.DescribeDelegationTokenOwner] | None = NEW_NULLABLE_LIST
    """[]DescribeDelegationTokenOwner, versions 0+, nullable 0+"""


class DescribeDelegationTokenResponse(Message):
    """Kafka's DescribeDelegationTokenResponse (response), API key 41, versions 0-3, flexible 2+."""

    class DescribedDelegationTokenRenewer(Structure):
        """Structure DescribedDelegationTokenRenewer, versions 0+."""

        principal_type: str = ""
        """string, versions 0+"""
        principal_name: str = ""
        """string, versions 0+"""

    class DescribedDelegationToken(Structure):
        """Structure DescribedDelegationToken, versions 0+."""

        principal_type: str = ""
        """string, versions 0+"""
        principal_name: str = ""
        """string, versions 0+"""
        token_requester_principal_type: str = ""
        """string, versions 3+"""
        token_requester_principal_name: str = ""
        """string, versions 3+"""
        issue_timestamp: int = 0
        """int64, versions 0+"""
        expiry_timestamp: int = 0
        """int64, versions 0+"""
        max_timestamp: int = 0
        """int64, versions 0+"""
        token_id: str = ""
        """string, versions 0+"""
        hmac: bytes = b""
        """bytes, versions 0+"""
        renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer] = NEW_LIST
        """[]DescribedDelegationTokenRenewer, versions 0+"""

    NAME = "DescribeDelegationTokenResponse"
    API_KEY = 41
    VERSIONS = (0, 3)
    FLEXIBLE_SINCE = 2

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    tokens: list[DescribeDelegationTokenResponse.DescribedDelegationToken] = NEW_LIST
    """[]DescribedDelegationToken, versions 0+"""
    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""


class DescribeUserScramCredentialsRequest(Message):
    """Kafka's DescribeUserScramCredentialsRequest (request), API key 50, versions 0, flexible 0+, listeners
    broker and controller.
    """

    class UserName(Structure):
        """Structure UserName, versions 0+."""

        name: str = ""
        """string, versions 0+"""

    NAME = "DescribeUserScramCredentialsRequest"
    API_KEY = 50
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    users: list[DescribeUserScramCredentialsRequest.UserName] | None = NEW_NULLABLE_LIST
    """[]UserName, versions 0+, nullable 0+"""


class DescribeUserScramCredentialsResponse(Message):
    """Kafka's DescribeUserScramCredentialsResponse (response), API key 50, versions 0, flexible 0+."""

    class CredentialInfo(Structure):
        """Structure CredentialInfo, versions 0+."""

        mechanism: int = 0
        """int8, versions 0+"""
        iterations: int = 0
        """int32, versions 0+"""

    class DescribeUserScramCredentialsResult(Structure):
        """Structure DescribeUserScramCredentialsResult, versions 0+."""

        user: str = ""
        """string, versions 0+"""
        error_code: int = 0
        """int16, versions 0+; an ErrorCode, 0 for success"""
        error_message: str | None = ""
        """string, versions 0+, nullable 0+; a text for people"""
        credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo] = NEW_LIST
        """[]CredentialInfo, versions 0+"""

    NAME = "DescribeUserScramCredentialsResponse"
    API_KEY = 50
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    results: list[DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult] = NEW_LIST
    """[]DescribeUserScramCredentialsResult, versions 0+"""


class ExpireDelegationTokenRequest(Message):
    """Kafka's ExpireDelegationTokenRequest (request), API key 40, versions 0-2, flexible 2+, listeners broker
    and controller.
    """

    NAME = "ExpireDelegationTokenRequest"
    API_KEY = 40
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    hmac: bytes = b""
    """bytes, versions 0+"""
    expiry_time_period_ms: int = 0
    """int64, versions 0+"""


class ExpireDelegationTokenResponse(Message):
    """Kafka's ExpireDelegationTokenResponse (response), API key 40, versions 0-2, flexible 2+."""

    NAME = "ExpireDelegationTokenResponse"
    API_KEY = 40
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    expiry_timestamp_ms: int = 0
    """int64, versions 0+"""
    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""


class RenewDelegationTokenRequest(Message):
    """Kafka's RenewDelegationTokenRequest (request), API key 39, versions 0-2, flexible 2+, listeners broker and
    controller.
    """

    NAME = "RenewDelegationTokenRequest"
    API_KEY = 39
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    hmac: bytes = b""
    """bytes, versions 0+"""
    renew_period_ms: int = 0
    """int64, versions 0+"""


class RenewDelegationTokenResponse(Message):
    """Kafka's RenewDelegationTokenResponse (response), API key 39, versions 0-2, flexible 2+."""

    NAME = "RenewDelegationTokenResponse"
    API_KEY = 39
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    expiry_timestamp_ms: int = 0
    """int64, versions 0+"""
    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""


class SaslAuthenticateRequest(Message):
    """Kafka's SaslAuthenticateRequest (request), API key 36, versions 0-2, flexible 2+, listeners broker and
    controller.
    """

    NAME = "SaslAuthenticateRequest"
    API_KEY = 36
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    auth_bytes: bytes = b""
    """bytes, versions 0+"""


class SaslAuthenticateResponse(Message):
    """Kafka's SaslAuthenticateResponse (response), API key 36, versions 0-2, flexible 2+."""

    NAME = "SaslAuthenticateResponse"
    API_KEY = 36
    VERSIONS = (0, 2)
    FLEXIBLE_SINCE = 2

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    error_message: str | None = ""
    """string, versions 0+, nullable 0+; a text for people"""
    auth_bytes: bytes = b""
    """bytes, versions 0+"""
    session_lifetime_ms: int = 0
    """int64, versions 1+, ignorable"""


class SaslHandshakeRequest(Message):
    """Kafka's SaslHandshakeRequest (request), API key 17, versions 0-1, listeners broker and controller."""

    NAME = "SaslHandshakeRequest"
    API_KEY = 17
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 32767

    mechanism: str = ""
    """string, versions 0+"""


class SaslHandshakeResponse(Message):
    """Kafka's SaslHandshakeResponse (response), API key 17, versions 0-1."""

    NAME = "SaslHandshakeResponse"
    API_KEY = 17
    VERSIONS = (0, 1)
    FLEXIBLE_SINCE = 32767

    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    mechanisms: list[str] = NEW_LIST
    """[]string, versions 0+"""
