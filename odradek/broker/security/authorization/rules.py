"""The two kinds of check that most APIs need: of one resource for the whole request, or of one for each element.

Owns: the answers for denied elements, built as the error response to a request for only these. Never does: naming an
API. Source: ``AuthHelper.partitionSeqByAuthorized``, ``AbstractRequest.getErrorResponse``.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.security.acl import CLUSTER_NAME, AclOperation, AclResourceType

from ...dispatch.error_responses import error_response
from ...dispatch.request import Denial
from .checked import Checked
from .request_authorizer import DECISIONS_A_STEP, RequestAuthorizer

DENIED: dict[AclResourceType, ErrorCode] = {
    AclResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    AclResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    AclResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    AclResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""The error for a denied operation on each type of resource."""


class Needs(NamedTuple):
    """A request needs an operation on one resource.

    ``name``: the request's attribute with the resource name; None for the cluster.
    """

    resource_type: AclResourceType
    operation: AclOperation
    name: str | None = None

    def passes(self, authorizer: RequestAuthorizer, request: Any) -> bool:
        """A quick test whether the operation is allowed; logs nothing (:data:`.checked.Passes`)."""
        name = CLUSTER_NAME if self.name is None else getattr(request, self.name)
        return authorizer.allows(self.operation, self.resource_type, name)

    def ask(self, authorizer: RequestAuthorizer, request: Any) -> None:
        """Raises Denial if the operation is not allowed."""
        name = CLUSTER_NAME if self.name is None else getattr(request, self.name)
        if not authorizer.may(self.operation, self.resource_type, name):
            raise Denial(DENIED[self.resource_type], f"the request needs {self.operation.name} permission")


class ElementRule(NamedTuple):
    """Each element of a request needs an operation on the resource that it names.

    ``elements``, ``answers``: the attributes of the request's list and of the response's list. ``name``: the element's
    attribute with the resource name; None if the element itself is the name. ``topic_id``: the attribute with the
    topic's id, used if the name is empty.
    """

    elements: str
    answers: str
    resource_type: AclResourceType
    operation: AclOperation
    name: str | None = "name"
    topic_id: str | None = None

    def name_of(self, authorizer: RequestAuthorizer, element: Any) -> str | None:
        """The name of an element's resource; None for a topic id that is unknown."""
        name: str | None = element if self.name is None else getattr(element, self.name)
        if name or self.topic_id is None:
            return name
        return authorizer.name_of(getattr(element, self.topic_id)) or name or None

    def is_allowed(self, authorizer: RequestAuthorizer, element: Any) -> bool:
        """Whether an element may be served. One with an unknown topic id may, as the handler answers its error."""
        name = self.name_of(authorizer, element)
        return name is None or authorizer.may(self.operation, self.resource_type, name)

    def passes(self, authorizer: RequestAuthorizer, request: Any) -> bool:
        """A quick test whether the elements are few and all allowed; logs nothing (:data:`.checked.Passes`)."""
        elements = getattr(request, self.elements)
        if elements is None:
            return True
        if len(elements) > DECISIONS_A_STEP:
            return False
        for element in elements:
            name = self.name_of(authorizer, element)
            if name is not None and not authorizer.allows(self.operation, self.resource_type, name):
                return False
        return True


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """A check (:data:`.checked.Check`) of ``needs`` for the whole request, then of ``each`` for its elements."""

    needs: tuple[Needs, ...]
    each: ElementRule | None

    def __call__(self, authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
        """Raises Denial if one of ``needs`` is not allowed."""
        for need in self.needs:
            need.ask(authorizer, request)
        if self.each is None:
            return Checked(request)
        return (yield from only_allowed(authorizer, request, self.each))

    def passes(self, authorizer: RequestAuthorizer, request: Any) -> bool:
        """A quick test whether the request is allowed as a whole; logs nothing (:data:`.checked.Passes`)."""
        for need in self.needs:
            if not need.passes(authorizer, request):
                return False
        return self.each is None or self.each.passes(authorizer, request)


def check(*needs: Needs, each: ElementRule | None = None) -> RuleCheck:
    """Makes a check of ``needs`` for the whole request, then of ``each`` for its elements."""
    return RuleCheck(needs, each)


def only_allowed(
    authorizer: RequestAuthorizer, request: Any, each: ElementRule, is_allowed: Callable[[Any], bool] | None = None
) -> Steps[Checked]:
    """Removes the denied elements from a request, and adds their errors to the handler's response.

    ``is_allowed`` decides about an element, instead of the operation of ``each``.
    """
    elements = getattr(request, each.elements)
    if elements is None:
        return Checked(request)
    allowed, denied = yield from authorizer.divide(
        elements, is_allowed if is_allowed is not None else lambda element: each.is_allowed(authorizer, element)
    )
    if not denied:
        return Checked(request)
    refused = refusal(authorizer, request, each.elements, denied, DENIED[each.resource_type])
    setattr(request, each.elements, allowed)
    return Checked(request if allowed else None, lambda response: joined(response, refused, each.answers))


def refusal(authorizer: RequestAuthorizer, request: Any, elements: str, denied: Sequence[Any], error: ErrorCode) -> Any:
    """The response to a request for the denied elements alone."""
    alone = copy(request)
    setattr(alone, elements, denied)
    return error_response(authorizer.api_key, authorizer.api_version, alone, error)


def joined(response: Any, refused: Any, answers: str) -> Any:
    """Joins the handler's response and the one for denied elements. As in Kafka, the served elements come first."""
    if response is None:
        return _served_nothing(refused)
    getattr(response, answers).extend(getattr(refused, answers))
    return response


def _served_nothing(refused: Any) -> Any:
    """Clears the top-level error: only the denied elements have errors."""
    if getattr(refused, "error_code", ErrorCode.NONE):
        refused.error_code = ErrorCode.NONE
    return refused
