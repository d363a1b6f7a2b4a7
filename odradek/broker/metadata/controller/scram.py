"""Changes the SCRAM credentials of users. Pure: a request goes in, records come out.

Source: ScramControlManager; KIP-554.
"""

from collections.abc import Sequence

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from odradek.protocol.messages.security import AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse
from odradek.protocol.security.scram import ITERATIONS_MAX, ITERATIONS_MIN, MECHANISMS_BY_TYPE, credential_of

from ..image.features import SCRAM_SUPPORTED
from ..image.image import MetadataImage
from ..publisher.decision import NO_ERROR, ApiError, Decision

Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
USERS_A_STEP = 100
TWICE = ApiError(ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
TOO_OLD = ApiError(ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")


def alter_scram_credentials(
    image: MetadataImage, request: AlterUserScramCredentialsRequest
) -> Steps[Decision[AlterUserScramCredentialsResponse]]:
    """Deletes and sets the credentials that are valid; each user may be named once."""
    changes: dict[str, Deletion | Upsertion] = {}
    errors: dict[str, ApiError] = {}
    asked: Sequence[Deletion | Upsertion] = [*request.deletions, *request.upsertions]
    for number, change in enumerate(asked, 1):
        name = change.name
        if name not in errors:
            error = TWICE if changes.pop(name, None) is not None else _problem(image, change)
            if error is NO_ERROR:
                changes[name] = change
            else:
                errors[name] = error
        if not number % USERS_A_STEP:
            yield
    decision = Decision(AlterUserScramCredentialsResponse())
    for number, change in enumerate(changes.values(), 1):
        decision.records.append(_record(change))
        decision.response.results.append(_result(change.name, NO_ERROR))
        if not number % USERS_A_STEP:
            yield
    decision.response.results += [_result(name, error) for name, error in errors.items()]
    return decision


def _problem(image: MetadataImage, change: Deletion | Upsertion) -> ApiError:
    if image.metadata_version < SCRAM_SUPPORTED:
        return TOO_OLD
    if not change.name:
        return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in MECHANISMS_BY_TYPE:
        return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, Upsertion):
        if change.iterations < ITERATIONS_MIN:
            return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if change.iterations > ITERATIONS_MAX:
            return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    elif (change.name, change.mechanism) not in image.scram_credentials:
        return ApiError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    return NO_ERROR


def _record(change: Deletion | Upsertion) -> UserScramCredentialRecord | RemoveUserScramCredentialRecord:
    if not isinstance(change, Upsertion):
        return RemoveUserScramCredentialRecord(change.name, change.mechanism)
    mechanism = MECHANISMS_BY_TYPE[change.mechanism]
    credential = credential_of(mechanism, change.salted_password, change.salt, change.iterations)
    return UserScramCredentialRecord(change.name, change.mechanism, *credential)


def _result(name: str, error: ApiError) -> AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult(name, error.code, error.message)
