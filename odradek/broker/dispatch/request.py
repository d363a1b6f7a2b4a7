"""The context of a request (client, time, permissions, quota), which a handler gets besides the body. Pure."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from odradek.protocol.common.steps import Result, Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.security.acl import ANONYMOUS, AclOperation, AclResourceType

from ..metadata.controller.controller import TakePartitions, unlimited
from ..metadata.publisher.controller_link import Requester
from ..network.connection import UNKNOWN_SOFTWARE

Response = TypeVar("Response", contravariant=True)


class Access(Protocol):
    """Authorization questions, for handlers that learn resource names only while they serve the request."""

    def topic(self, operation: AclOperation, name: str, log: bool = True) -> bool:
        """Whether an operation on a topic is allowed. ``log``: whether to log a denial."""

    def cluster(self, operation: AclOperation, log: bool = True) -> bool:
        """Whether an operation on the cluster is allowed."""

    def may(self, operation: AclOperation, resource_type: AclResourceType, name: str, log: bool = True) -> bool:
        """Whether an operation on one resource is allowed."""


class RequestCharge(Protocol):
    """The quota charge of a request, for handlers that know costs which the dispatcher does not."""

    def fetch_max_bytes(self, is_follower: bool) -> float:
        """The largest answer to Fetch, in bytes, that alone is within the quota; infinite for followers.

        Followers are not charged.
        """

    def fetched(self, size: int) -> int:
        """Charges a Fetch with an answer of ``size`` bytes. Returns for how many ms its connection will be muted.

        If that is more than 0, the bytes are not charged, and the caller must answer without records.
        """

    def mutations(self, strict: bool) -> TakePartitions:
        """The function that charges created and deleted partitions to ``controller_mutation_rate`` (KIP-599).

        ``strict``: if the quota is exceeded, it raises KafkaError THROTTLING_QUOTA_EXCEEDED; otherwise the change is
        made and the connection is muted.
        """

    def on_thread(self, steps: Steps[Result]) -> Steps[Result]:
        """Wraps steps that a thread runs, so that their CPU time is charged."""


class RequestContext:
    """The origin and the time of a request. There is one object for each request.

    ``now_ms`` is wall-clock milliseconds since the epoch, read once at the start of the request: handlers and cores
    take the time from here and never read a clock. ``owns_frame``: memoryviews in the request (records) stay valid
    after the handler has returned; otherwise only until it returns. ``in_slices``: the request is served in slices,
    because it has more than 512 elements or its handler asked for it. ``principal`` is ``Type:name``. ``access`` is
    None without an authorizer: everything is allowed. ``charge`` is None if no client has a quota.
    """

    __slots__ = (
        "access",
        "api_key",
        "api_version",
        "charge",
        "client_host",
        "client_id",
        "connection_id",
        "in_slices",
        "listener_name",
        "now_ms",
        "owns_frame",
        "principal",
    )

    def __init__(
        self,
        api_key: int,
        api_version: int,
        client_id: str | None,
        client_host: str,
        listener_name: str,
        connection_id: int,
        now_ms: int,
        owns_frame: bool = True,
        in_slices: bool = False,
        principal: str = ANONYMOUS,
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.client_id = client_id
        self.client_host = client_host
        self.listener_name = listener_name
        self.connection_id = connection_id
        self.now_ms = now_ms
        self.owns_frame = owns_frame
        self.in_slices = in_slices
        self.principal = principal
        self.access: Access | None = None
        self.charge: RequestCharge | None = None

    def is_by_token(self) -> bool:
        """Whether the client has logged in with a delegation token. Call it before answering."""
        return False

    @property
    def owner(self) -> str:
        """Whose share of a table that all clients use a request fills: the principal's, or that of the address of a
        client that has not logged in."""
        return self.client_host if self.principal == ANONYMOUS else self.principal

    @property
    def requester(self) -> Requester:
        """The client, for requests that this broker forwards to the controllers on its behalf."""
        return Requester(self.principal, self.client_host, self.client_id, self.is_by_token())

    def identify(self, software_name: str, software_version: str) -> None:
        """Notes the client library of the connection (KIP-511)."""

    def client_software(self) -> tuple[str, str]:
        """Name and version of the client library of the connection (KIP-511). Call it before answering."""
        return UNKNOWN_SOFTWARE

    def client_port(self) -> int:
        """The client's port; 0 if it is unknown. Call it before answering."""
        return 0

    def is_wanted(self) -> bool:
        """Whether a client waits for the answer; False once the connection has closed."""
        return True


class Reply(Protocol[Response]):
    """The reply function of a request. It may be called at once or later."""

    def __call__(self, response: Response | None) -> None:
        """Answers; None if the client wants no answer."""

    def refuse(self, reason: str) -> None:
        """Closes the connection instead. A handler that has not returned yet raises :class:`ConnectionRefusal`."""

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        """Runs further steps of a request whose handler has returned: at once to their first pause, then in slices.
        They end with the connection, and do not begin after it."""


def in_one_step(context: RequestContext, serve: Callable[[], None]) -> Iterator[object]:
    """Returns the steps of a handler that serves a small request in one step.

    If many such requests arrive in one turn of the event loop, some of them are served in later turns. Memoryviews of
    the request's frame are no longer valid then.
    """
    is_large = context.in_slices

    def steps() -> Steps[None]:
        yield  # it takes its turn among the slices
        # Encode the answer of a small request without slices. A large request needs slices to release its memory.
        context.in_slices = is_large
        serve()

    return steps()


def may_describe(context: RequestContext, topic: str) -> bool:
    """Whether the client may describe a topic. For requests for all topics: a denial is not logged."""
    return context.access is None or context.access.topic(AclOperation.DESCRIBE, topic, log=False)


def mutations(context: RequestContext, strict_since: int) -> TakePartitions:
    """The function that charges partitions to the client's quota (KIP-599), see :meth:`RequestCharge.mutations`.

    Versions from ``strict_since`` on have the error THROTTLING_QUOTA_EXCEEDED.
    """
    if context.charge is None:
        return unlimited
    return context.charge.mutations(context.api_version >= strict_since)


class Denial(KafkaError):  # noqa: N818 - an answer, not an error of ours
    """Raised by the authorization check before a handler if the whole request is denied. The denial is logged."""


class ConnectionRefusal(Exception):  # noqa: N818 - not an error of ours, but the peer's
    """Raised by a handler if Kafka closes the connection instead of answering. The text is logged."""
