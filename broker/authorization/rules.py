"""The two kinds of check that most APIs need: one resource for the whole request, one for each of its elements.

Owns: how a denied part is answered: as a request for that part alone that failed. Never does: naming an API. Source:
``AuthHelper.partitionSeqByAuthorized``, ``AbstractRequest.getErrorResponse``.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...protocol.errors import ErrorCode
from ...protocol.steps import Steps
from ..acls.acl import CLUSTER_NAME, AclOperation, AclResourceType
from ..dispatch.error_responses import error_response
from ..dispatch.request import Denial
from .asking import DECISIONS_A_STEP, Asking
from .checked import Checked

DENIED: dict[AclResourceType, ErrorCode] = {
    AclResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    AclResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    AclResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    AclResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""The error for a denied operation on each type of resource."""


class Needs(NamedTuple):
    """A whole request needs an operation on one resource. ``name``: its attribute; None for the cluster."""

    resource_type: AclResourceType
    operation: AclOperation
    name: str | None = None

    def passes(self, asking: Asking, request: Any) -> bool:
        """See :data:`.checked.Passes`."""
        name = CLUSTER_NAME if self.name is None else getattr(request, self.name)
        return asking.allows(self.operation, self.resource_type, name)

    def ask(self, asking: Asking, request: Any) -> None:
        """Raises Denial."""
        name = CLUSTER_NAME if self.name is None else getattr(request, self.name)
        if not asking.may(self.operation, self.resource_type, name):
            raise Denial(DENIED[self.resource_type], f"the request needs {self.operation.name} permission")


class ElementRule(NamedTuple):
    """Each element of a request needs an operation on the resource that it names.

    ``elements`` and ``answers``: the lists of the request and of the response. ``name``: an element's attribute; None
    if the element is the name. ``topic_id``: the attribute that names the topic where the name is empty.
    """

    elements: str
    answers: str
    resource_type: AclResourceType
    operation: AclOperation
    name: str | None = "name"
    topic_id: str | None = None

    def name_of(self, asking: Asking, element: Any) -> str | None:
        """The name of an element's resource; None for a topic id that is unknown."""
        name: str | None = element if self.name is None else getattr(element, self.name)
        if name or self.topic_id is None:
            return name
        return asking.name_of(getattr(element, self.topic_id)) or name or None

    def is_allowed(self, asking: Asking, element: Any) -> bool:
        """Whether an element may be served. The handler answers one that names nothing."""
        name = self.name_of(asking, element)
        return name is None or asking.may(self.operation, self.resource_type, name)

    def passes(self, asking: Asking, request: Any) -> bool:
        """See :data:`.checked.Passes`."""
        elements = getattr(request, self.elements)
        if elements is None:
            return True
        if len(elements) > DECISIONS_A_STEP:
            return False
        for element in elements:
            name = self.name_of(asking, element)
            if name is not None and not asking.allows(self.operation, self.resource_type, name):
                return False
        return True


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """The check of an API (:data:`.checked.Check`) that needs these, in this order."""

    needs: tuple[Needs, ...]
    each: ElementRule | None

    def __call__(self, asking: Asking, request: Any) -> Steps[Checked]:
        """Raises Denial."""
        for need in self.needs:
            need.ask(asking, request)
        if self.each is None:
            return Checked(request)
        return (yield from only_allowed(asking, request, self.each))

    def passes(self, asking: Asking, request: Any) -> bool:
        """See :data:`.checked.Passes`."""
        for need in self.needs:
            if not need.passes(asking, request):
                return False
        return self.each is None or self.each.passes(asking, request)


def check(*needs: Needs, each: ElementRule | None = None) -> RuleCheck:
    """The check of an API that needs these, in this order."""
    return RuleCheck(needs, each)


def only_allowed(
    asking: Asking, request: Any, each: ElementRule, is_allowed: Callable[[Any], bool] | None = None
) -> Steps[Checked]:
    """Takes the denied elements out of a request, and answers them beside those that are served.

    ``is_allowed``: instead of the operation of ``each``.
    """
    elements = getattr(request, each.elements)
    if elements is None:
        return Checked(request)
    allowed, denied = yield from asking.divide(
        elements, is_allowed if is_allowed is not None else lambda element: each.is_allowed(asking, element)
    )
    if not denied:
        return Checked(request)
    refused = refusal(asking, request, each.elements, denied, DENIED[each.resource_type])
    setattr(request, each.elements, allowed)
    return Checked(request if allowed else None, lambda response: joined(response, refused, each.answers))


def refusal(asking: Asking, request: Any, elements: str, denied: Sequence[Any], error: ErrorCode) -> Any:
    """The response to a request for the denied elements alone."""
    alone = copy(request)
    setattr(alone, elements, denied)
    return error_response(asking.api_key, asking.api_version, alone, error)


def joined(response: Any, refused: Any, answers: str) -> Any:
    """One response of two. What is served comes first, as in Kafka."""
    if response is None:
        return _served_nothing(refused)
    getattr(response, answers).extend(getattr(refused, answers))
    return response


def _served_nothing(refused: Any) -> Any:
    """The elements have their errors; the response as a whole has none."""
    if getattr(refused, "error_code", ErrorCode.NONE):
        refused.error_code = ErrorCode.NONE
    return refused
