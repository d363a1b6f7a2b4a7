"""What the lanes need of a broker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from odradek.protocol.errors import ProtocolError
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..api.parts import AllParts
from ..dispatch.request import Access, RequestContext
from ..dispatch.route import Route
from ..fetch.session import FetchSessionCache
from ..groups.coordinator import GroupCoordinator
from ..metadata.publisher.published import PublishedMetadata
from ..network.connection import Connection
from ..replicas.partitions import Partitions
from ..timers.loop_timers import LoopTimers

if TYPE_CHECKING:
    from ..metrics.topic_meters import TopicMeters
    from ..security.authorization.standard_authorizer import StandardAuthorizer


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneParts:
    """The parts of a broker that lanes use, so that a request looks up none of them.

    ``broker``: for handlers that make an answer to keep. ``clock_ms``: wall clock, ms since the epoch. ``authorizer``:
    None if clients may do everything, as ``access_of``, which makes the authorization of a request for the general
    path. ``topic_meters``: None without metrics. ``fetch_max_bytes``, ``fetch_check_crcs``: of the configuration.
    """

    broker: AllParts
    metadata: PublishedMetadata
    partitions: Partitions
    groups: GroupCoordinator
    fetch_sessions: FetchSessionCache
    timers: LoopTimers
    fetch_max_bytes: int
    fetch_check_crcs: bool
    clock_ms: Callable[[], int]
    authorizer: "StandardAuthorizer | None"
    access_of: "Callable[[RequestContext], Access] | None"
    topic_meters: "TopicMeters | None"

    def may(self, connection: Connection, operation: AclOperation, resource_type: AclResourceType, name: str) -> bool:
        """Whether a client may do an operation on a resource. A denial is not logged: the general path does that."""
        authorizer = self.authorizer
        return authorizer is None or authorizer.allows(
            connection.principal, connection.client_host, operation, resource_type, name
        )


MOST_KNOWN = 4096
"""The most requests that a lane knows; then all are forgotten, since clients could fill the memory."""
LONGEST_FRAME = 512
"""The bytes of a request that is remembered whole."""
Key = TypeVar("Key")
Value = TypeVar("Value")


def remember(known: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Remembers a request. If there are ``most`` already, all are forgotten: clients could fill the memory."""
    if len(known) >= most:
        known.clear()
    known[key] = value


def decoded(route: Route, frame: memoryview) -> tuple[Any, str | None, int] | None:
    """A request, its client id, and where it ends in the frame; None if it can't be decoded."""
    try:
        _, client_id, position = route.decode_head(frame)
        request, end = route.decode(frame, position)
    except ProtocolError:
        return None
    return request, client_id, end


def recalling(
    route: Route, learn: Callable[[Any, str | None], Value | None], most: int = MOST_KNOWN
) -> Callable[[memoryview], Value | None]:
    """A function that gives what is known of a request, by its bytes without the correlation id.

    ``learn`` makes that of the first such request and its client id; None if the lane does not serve it. At most
    ``most`` requests are remembered. A frame of more than LONGEST_FRAME bytes gets None.
    """
    known: dict[bytes, Value] = {}

    def recall(frame: memoryview) -> Value | None:
        if len(frame) > LONGEST_FRAME:
            return None
        key = bytes(frame[8:])
        found = known.get(key)
        if found is None:
            asked = decoded(route, frame)
            found = None if asked is None else learn(asked[0], asked[1])
            if found is not None:
                remember(known, key, found, most)
        return found

    return recall
