"""The effects of the records of security: ACLs, delegation tokens, SCRAM credentials.

Pure. Owns: ``acls``, ``delegation_tokens`` and ``scram_credentials`` of the image. Never does: I/O, reading a clock,
deciding. Invariant: an ACL keeps the id that its record has. Source: ``replay`` of Kafka's AclsDelta,
DelegationTokenDelta and ScramDelta.
"""

from odradek.protocol.messages import metadata_records as records
from odradek.protocol.security.acl import Acl
from odradek.protocol.security.scram_credential import ScramCredential

from .delegation_tokens import DelegationToken
from .image import SHOWN_CHARACTERS, MetadataCorruption, MetadataDelta, MetadataImage


def add_acl(image: MetadataImage, record: records.AccessControlEntryRecord, delta: MetadataDelta) -> None:
    """Adds an ACL under its id."""
    image.own("acls")
    image.acls[record.id] = Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )
    delta.changed_acls[record.id] = None


def remove_acl(image: MetadataImage, record: records.RemoveAccessControlEntryRecord, delta: MetadataDelta) -> None:
    """Removes an ACL. Raises MetadataCorruption if no ACL has the id."""
    if record.id not in image.acls:
        raise MetadataCorruption(f"the record removes an ACL that does not exist: {record}"[:SHOWN_CHARACTERS])
    image.own("acls")
    del image.acls[record.id]
    delta.changed_acls[record.id] = None


def add_token(image: MetadataImage, record: records.DelegationTokenRecord, delta: MetadataDelta) -> None:
    """Adds a delegation token, or replaces it after a renewal."""
    image.own("delegation_tokens")
    image.delegation_tokens[record.token_id] = DelegationToken(
        record.token_id,
        record.owner,
        record.requester,
        tuple(record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )
    delta.changed_tokens[record.token_id] = None


def remove_token(image: MetadataImage, record: records.RemoveDelegationTokenRecord, delta: MetadataDelta) -> None:
    """Removes a token. As in Kafka, the token need not be there."""
    image.own("delegation_tokens")
    if image.delegation_tokens.pop(record.token_id, None) is not None:
        delta.changed_tokens[record.token_id] = None


def add_scram_credential(image: MetadataImage, record: records.UserScramCredentialRecord, delta: MetadataDelta) -> None:
    """Sets the credential of a user for one mechanism."""
    image.own("scram_credentials")
    image.scram_credentials[record.name, record.mechanism] = ScramCredential(
        record.salt, record.stored_key, record.server_key, record.iterations
    )
    delta.changed_scram[record.name, record.mechanism] = None


def remove_scram_credential(
    image: MetadataImage, record: records.RemoveUserScramCredentialRecord, delta: MetadataDelta
) -> None:
    """Removes the credential of a user for one mechanism, if there is one."""
    image.own("scram_credentials")
    if image.scram_credentials.pop((record.name, record.mechanism), None) is not None:
        delta.changed_scram[record.name, record.mechanism] = None
