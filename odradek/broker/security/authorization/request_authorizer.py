"""Asks the authorizer for one request, and logs each denial.

Owns: the principal and the host of a request, the audit log of denials. Never does: knowing an API. Source:
``AuthHelper``, ``StandardAuthorizerData.buildAuditMessage``.
"""

import logging
from collections.abc import Callable, Iterable
from typing import TypeVar

from odradek.protocol.apis.api_keys import api
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.security.acl import CLUSTER_NAME, AclOperation, AclResourceType

from ...dispatch.request import Denial, RequestContext
from ...metadata.image.image import MetadataImage
from .standard_authorizer import StandardAuthorizer

Element = TypeVar("Element")

DECISIONS_A_STEP = 100
"""The number of decisions in one step: at most 4 us each, and a log line for each denial."""

audit_log = logging.getLogger("odradek.authorizer")


class RequestAuthorizer:
    """The authorization of one request: its principal, its host, and the current ACLs."""

    __slots__ = ("_authorizer", "api_key", "api_version", "creates_topics", "host", "image", "principal")

    def __init__(
        self,
        authorizer: StandardAuthorizer,
        image: MetadataImage,
        context: RequestContext,
        creates_topics: bool = True,
    ) -> None:
        """``image``: for the names of topics that a request names by id. ``creates_topics``: whether Metadata requests
        create missing topics (``auto.create.topics.enable``)."""
        self.creates_topics = creates_topics
        self._authorizer = authorizer
        self.api_key = context.api_key
        self.api_version = context.api_version
        self.image = image
        self.principal = context.principal
        self.host = context.client_host

    def allows(self, operation: AclOperation, resource_type: AclResourceType, name: str) -> bool:
        """Whether an operation on one resource is allowed. A denial is not logged."""
        return bool(self._authorizer.allowed(self.principal, self.host, resource_type, name) >> operation & 1)

    def may(self, operation: AclOperation, resource_type: AclResourceType, name: str, log: bool = True) -> bool:
        """Whether an operation on one resource is allowed. ``log``: whether to log a denial."""
        if self._authorizer.allows(self.principal, self.host, operation, resource_type, name):
            return True
        if log:
            audit_log.info(
                "principal %r at %s is denied %s on %s %.100r, for %s",
                self.principal,
                self.host,
                operation.name,
                resource_type.name,
                name,
                api(self.api_key).name,
            )
        return False

    def topic(self, operation: AclOperation, name: str, log: bool = True) -> bool:
        """Whether an operation on a topic is allowed."""
        return self.may(operation, AclResourceType.TOPIC, name, log)

    def group(self, operation: AclOperation, name: str) -> bool:
        """Whether an operation on a group is allowed."""
        return self.may(operation, AclResourceType.GROUP, name)

    def transactional_id(self, operation: AclOperation, name: str, log: bool = True) -> bool:
        """Whether an operation on a transactional id is allowed."""
        return self.may(operation, AclResourceType.TRANSACTIONAL_ID, name, log)

    def cluster(self, operation: AclOperation, log: bool = True) -> bool:
        """Whether an operation on the cluster is allowed."""
        return self.may(operation, AclResourceType.CLUSTER, CLUSTER_NAME, log)

    def any_topic(self, operation: AclOperation) -> bool:
        """Whether an operation on at least one topic is allowed (``authorizeByResourceType``)."""
        return self._authorizer.allows_any(self.principal, self.host, operation, AclResourceType.TOPIC)

    def require_cluster(self, operation: AclOperation) -> None:
        """Raises Denial with CLUSTER_AUTHORIZATION_FAILED if the operation on the cluster is not allowed."""
        if not self.cluster(operation):
            raise Denial(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"the request needs {operation.name} permission")

    def operations(self, resource_type: AclResourceType, name: str, supported: int) -> int:
        """The allowed operations on a resource as a bit field. ``supported``: the operations of the resource type."""
        return self._authorizer.allowed(self.principal, self.host, resource_type, name) & supported

    def name_of(self, topic_id: bytes) -> str | None:
        """The name of a topic; None for an unknown id."""
        topic = self.image.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def divide(
        self, elements: Iterable[Element], is_allowed: Callable[[Element], bool]
    ) -> Steps[tuple[list[Element], list[Element]]]:
        """Divides elements into allowed and denied ones, in steps. Both lists keep the order."""
        allowed: list[Element] = []
        denied: list[Element] = []
        for number, element in enumerate(elements, 1):
            (allowed if is_allowed(element) else denied).append(element)
            if not number % DECISIONS_A_STEP:
                yield
        return allowed, denied
