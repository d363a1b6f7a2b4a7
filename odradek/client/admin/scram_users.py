"""The admin client's part for SCRAM credentials of users. Source: ``Admin.alterUserScramCredentials``; KIP-554.

A password never leaves the client, which sends a random salt and the salted password. The repr of ``ScramUpsertion``
omits the password.
"""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.messages.security import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

from ..errors import broker_error
from .base import AdminBase, all_or_raise, split

DEFAULT_ITERATIONS = 4096
SALT_BYTES = 20
MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}
"""Name -> number in the protocol, name of the hash."""
NAMES = {number: name for name, (number, _) in MECHANISMS.items()}


class UserCredential(NamedTuple):
    """A credential that a user has; ``mechanism`` is SCRAM-SHA-256 or SCRAM-SHA-512."""

    mechanism: str
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """A credential to create or replace. ``salt`` is random if it is None."""

    user: str
    mechanism: str
    password: str = field(repr=False)
    iterations: int = DEFAULT_ITERATIONS
    salt: bytes | None = field(default=None, repr=False)


class ScramDeletion(NamedTuple):
    """A credential to delete."""

    user: str
    mechanism: str


class ScramUserAdmin(AdminBase):
    """Calls about users with SCRAM credentials; part of Admin."""

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None
    ) -> dict[str, list[UserCredential]]:
        """The credentials of the named users, or of all. Raises KafkaError; AdminError: RESOURCE_NOT_FOUND for a user
        without credentials, DUPLICATE_RESOURCE."""
        named = None if users is None else [DescribeUserScramCredentialsRequest.UserName(user) for user in users]
        request = DescribeUserScramCredentialsRequest(named)
        response = await self._controller_call(request, DescribeUserScramCredentialsResponse)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeUserScramCredentials", response.error_message)
        errors, results = split(
            (result.user, result.error_code, result.error_message, result) for result in response.results
        )
        described = {
            user: [UserCredential(NAMES.get(i.mechanism, "UNKNOWN"), i.iterations) for i in result.credential_infos]
            for user, result in results.items()
        }
        return all_or_raise(errors, described)

    async def alter_user_scram_credentials(
        self, upsertions: Iterable[ScramUpsertion] = (), deletions: Iterable[ScramDeletion] = ()
    ) -> None:
        """Creates, replaces and deletes credentials.

        Raises AdminError with the errors by user: UNACCEPTABLE_CREDENTIAL for less than 4096 or more than 16384
        iterations, RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE.
        """
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
        request = AlterUserScramCredentialsRequest(
            [deletion(user, MECHANISMS[mechanism][0]) for user, mechanism in deletions],
            [_upsertion(upsertion) for upsertion in upsertions],
        )
        response = await self._controller_call(request, AlterUserScramCredentialsResponse)
        errors, results = split(
            (result.user, result.error_code, result.error_message, None) for result in response.results
        )
        all_or_raise(errors, results)


def _upsertion(upsertion: ScramUpsertion) -> AlterUserScramCredentialsRequest.ScramCredentialUpsertion:
    """The request's entry for a credential, with the salted password (RFC 5802). Like Kafka without SASLprep."""
    salt = secrets.token_bytes(SALT_BYTES) if upsertion.salt is None else upsertion.salt
    number, hash_name = MECHANISMS[upsertion.mechanism]
    # pbkdf2_hmac needs at least one iteration. The broker then refuses fewer than 4096.
    salted = hashlib.pbkdf2_hmac(hash_name, upsertion.password.encode(), salt, max(1, upsertion.iterations))
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        upsertion.user, number, upsertion.iterations, salt, salted
    )
