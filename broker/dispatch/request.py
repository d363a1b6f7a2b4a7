"""The context of a request, which a handler gets besides the body. Pure."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from ...protocol.errors import KafkaError
from ...protocol.steps import Result, Steps
from ..acls.acl import ANONYMOUS, AclOperation, AclResourceType
from ..controller.controller import TakePartitions, unlimited
from ..metadata.controller_link import Requester

Response = TypeVar("Response", contravariant=True)


class Access(Protocol):
    """What a request may do, for handlers that find the names only while they serve it."""

    def topic(self, operation: AclOperation, name: str, log: bool = True) -> bool:
        """Whether an operation on a topic is allowed. ``log``: whether a denial is worth a line."""

    def cluster(self, operation: AclOperation, log: bool = True) -> bool:
        """Whether an operation on the cluster is allowed."""

    def may(self, operation: AclOperation, resource_type: AclResourceType, name: str, log: bool = True) -> bool:
        """Whether an operation on one resource is allowed."""


class Charged(Protocol):
    """What a request is charged for, for handlers that know it better than the dispatcher."""

    def fetch_max_bytes(self, is_follower: bool) -> float:
        """The most bytes that an answer to Fetch can have without being over the quota by itself. Followers are not
        charged.
        """

    def fetched(self, size: int) -> int:
        """Charges a Fetch with an answer of ``size`` bytes. Returns for how many ms its connection will be muted: with
        more than 0, the bytes do not count, and the answer has to be without records.
        """

    def mutations(self, strict: bool) -> TakePartitions:
        """The function that takes partitions from the quota of the controller's changes. ``strict``: it raises
        KafkaError THROTTLING_QUOTA_EXCEEDED if none are left; otherwise the answer is throttled.
        """

    def on_thread(self, steps: Steps[Result]) -> Steps[Result]:
        """The same steps, whose time is charged, for a thread."""


class RequestContext:
    """The origin and the time of a request. There is one object for each request.

    ``now_ms`` is wall-clock milliseconds since the epoch, read once at the start of the request: handlers and cores
    take the time from here and never read a clock. ``owns_frame``: the request's views (records) stay valid after the
    handler has returned; otherwise they are valid only inside it. ``in_slices``: the request is served in slices,
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
        self.charge: Charged | None = None

    def is_by_token(self) -> bool:
        """Whether the client has logged in with a delegation token. Ask before the answer."""
        return False

    @property
    def requester(self) -> Requester:
        """The client, for what this broker asks of the controllers on its behalf."""
        return Requester(self.principal, self.client_host, self.client_id, self.is_by_token())

    def identify(self, software_name: str, software_version: str) -> None:
        """Notes the client library of the connection (KIP-511)."""

    def is_wanted(self) -> bool:
        """Whether a client waits for the answer; False once the connection has closed."""
        return True


class Reply(Protocol[Response]):
    """The reply function of a request. It may be called at once or later."""

    def __call__(self, response: Response | None) -> None:
        """Answers; None if the client wants no answer."""

    def refuse(self, reason: str) -> None:
        """Closes the connection instead. A handler that has not returned raises :class:`ConnectionRefusal`."""

    def run_steps(self, request: object, steps: Iterator[object]) -> None:
        """Runs further steps of a request whose handler has returned, in slices. They end with the connection."""


def in_one_step(context: RequestContext, serve: Callable[[], None]) -> Iterator[object]:
    """Returns the steps of a handler that serves a small request in one step.

    Of many such requests that come in one turn of the event loop, some are served in the next turns. The request's
    views are not valid then.
    """
    is_large = context.in_slices

    def steps() -> Iterator[object]:
        # A small answer is encoded at once. A large request releases its memory when its answer is encoded in slices.
        context.in_slices = is_large
        serve()
        yield from ()

    return steps()


def may_describe(context: RequestContext, topic: str) -> bool:
    """Whether a request for all topics shows this one. It hides the others without a line in the log."""
    return context.access is None or context.access.topic(AclOperation.DESCRIBE, topic, log=False)


def mutations(context: RequestContext, strict_since: int) -> TakePartitions:
    """What takes partitions from the client's quota (KIP-599). Versions from ``strict_since`` on know the error."""
    if context.charge is None:
        return unlimited
    return context.charge.mutations(context.api_version >= strict_since)


class Denial(KafkaError):  # noqa: N818 - an answer, not an error of ours
    """Raised by the check before a handler if a whole request is denied. The authorizer has logged it."""


class ConnectionRefusal(Exception):  # noqa: N818 - not an error of ours, but the peer's
    """Raised by a handler if Kafka closes the connection instead of answering. The text is logged."""
