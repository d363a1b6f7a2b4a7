"""What the lanes need of a broker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..api.parts import AllParts
from ..dispatch.request import Access, RequestContext
from ..fetch.session import FetchSessionCache
from ..groups.coordinator import GroupCoordinator
from ..metadata.publisher.published import PublishedMetadata
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
