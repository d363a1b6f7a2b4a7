"""Requests for quotas, SCRAM users and delegation tokens that change nothing."""

from odradek.protocol.messages.quorum import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
    UnregisterControllerRequest,
    UpdateFeaturesRequest,
)
from odradek.protocol.messages.quotas import AlterClientQuotasRequest
from odradek.protocol.messages.security import (
    AlterUserScramCredentialsRequest,
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    DescribeUserScramCredentialsRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from odradek.protocol.messages.structure import Message

SHA_256 = 1


def alter_quotas(_: dict[str, bytes]) -> Message:
    entity = AlterClientQuotasRequest.EntityData("client-id", "nobody")
    operation = AlterClientQuotasRequest.OpData("producer_byte_rate", 1e9)
    return AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData([entity], [operation])], validate_only=True)


def describe_users(_: dict[str, bytes]) -> Message:
    """Describes one user, because Kafka never answers a denied request for all users."""
    return DescribeUserScramCredentialsRequest([DescribeUserScramCredentialsRequest.UserName("unknown")])


def alter_users(_: dict[str, bytes]) -> Message:
    return AlterUserScramCredentialsRequest(
        deletions=[AlterUserScramCredentialsRequest.ScramCredentialDeletion("unknown", SHA_256)]
    )


def update_features(_: dict[str, bytes]) -> Message:
    update = UpdateFeaturesRequest.FeatureUpdateKey("group.version", 1)
    return UpdateFeaturesRequest(feature_updates=[update], validate_only=True)


def unregister_broker(_: dict[str, bytes]) -> Message:
    return UnregisterBrokerRequest(77)


def unregister_controller(_: dict[str, bytes]) -> Message:
    return UnregisterControllerRequest(77)


def add_voter(_: dict[str, bytes]) -> Message:
    return AddRaftVoterRequest("another cluster")


def remove_voter(_: dict[str, bytes]) -> Message:
    return RemoveRaftVoterRequest("another cluster")


def create_token(_: dict[str, bytes]) -> Message:
    """Creates a token for another user. Its renewer is invalid, so the request fails after the authorization check."""
    renewer = CreateDelegationTokenRequest.CreatableRenewers("Group", "readers")
    return CreateDelegationTokenRequest("User", "admin", [renewer], -1)


def renew_token(_: dict[str, bytes]) -> Message:
    return RenewDelegationTokenRequest(b"unknown", -1)


def expire_token(_: dict[str, bytes]) -> Message:
    return ExpireDelegationTokenRequest(b"unknown", -1)


def describe_tokens(_: dict[str, bytes]) -> Message:
    return DescribeDelegationTokenRequest(None)
