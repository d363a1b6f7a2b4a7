"""DescribeUserScramCredentials (50): the users that have SCRAM credentials, with mechanisms and iterations.

Versions: 0.
Errors: CLUSTER_AUTHORIZATION_FAILED; for each user: RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE (named twice).
Source: KIP-554; ``ScramImage.describe``. Unlike Kafka 4.4.0, which sends no answer, a denied request for all users gets
an error.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.security import DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse
from odradek.protocol.security.scram import MECHANISMS_BY_TYPE

from ..dispatch.request import RequestContext
from ..metadata.image.image import MetadataImage
from ..metadata.publisher.decision import counted
from .parts import MetadataParts

API_KEY = ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS
USERS_A_STEP = 200
DescribeUserScramCredentialsResult = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
TWICE = "Cannot describe SCRAM credentials for the same user twice in a single request: "
UNKNOWN = "Attempt to describe a user credential that does not exist: "


def handle(
    broker: MetadataParts,
    request: DescribeUserScramCredentialsRequest,
    context: RequestContext,
    reply: Callable[[DescribeUserScramCredentialsResponse], None],
) -> Iterator[object]:
    """Answers from the metadata image. A request without users means all users."""
    image = broker.metadata.image.view()
    asked = yield from counted([user.name for user in request.users or ()])
    names = asked or dict.fromkeys(name for name, _ in image.scram_credentials)
    response = DescribeUserScramCredentialsResponse()
    for number, name in enumerate(names, 1):
        if asked[name] > 1:
            response.results.append(
                DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, TWICE + name)
            )
        else:
            response.results.append(_described(image, name))
        if not number % USERS_A_STEP:
            yield None
    reply(response)


def _described(image: MetadataImage, name: str) -> DescribeUserScramCredentialsResult:
    found = [
        DescribeUserScramCredentialsResponse.CredentialInfo(kind, image.scram_credentials[name, kind].iterations)
        for kind in MECHANISMS_BY_TYPE
        if (name, kind) in image.scram_credentials
    ]
    if not found:
        return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, UNKNOWN + name)
    return DescribeUserScramCredentialsResult(name, credential_infos=found)
