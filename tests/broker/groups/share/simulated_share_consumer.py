"""A share consumer as a client behaves: it joins, sends heartbeats, takes over its assignment, joins again if fenced.

It has one request in flight at a time. The simulator makes all random decisions.
"""

from dataclasses import dataclass, field

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from support.groups.harness import Harness

SESSION_MS = 2_000
ABANDONS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
TRIES_AGAIN = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


@dataclass
class SimulatedShareConsumer:
    """One consumer. ``told``: the subscription that the coordinator knows; None if all must be sent again."""

    name: str
    harness: Harness
    group_id: str
    alive: bool = False
    incarnation: int = 0
    member_id: str = ""
    epoch: int = 0
    waiting: bool = False
    subscription: frozenset[str] = frozenset()
    told: frozenset[str] | None = None
    assigned: set[tuple[bytes, int]] = field(default_factory=set)
    paused_until_ms: int = 0

    def start(self, member_id: str, subscription: frozenset[str]) -> None:
        """A new process."""
        self.alive = True
        self.incarnation += 1
        self.member_id = member_id
        self.subscription = subscription
        self.waiting = False
        self.paused_until_ms = 0
        self.abandon()

    def abandon(self) -> None:
        """Gives up everything and will join again."""
        self.epoch = 0
        self.told = None
        self.assigned = set()

    def crash(self) -> None:
        """Dies without a request."""
        self.alive = self.waiting = False
        self.abandon()

    def leave(self) -> None:
        """Closes."""
        request = ShareGroupHeartbeatRequest(self.group_id, self.member_id, -1)
        request.subscribed_topic_names = None
        self.crash()
        self.harness.send(self.name, ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, lambda _: None)

    def connection_lost(self) -> None:
        """The request is not answered. The next heartbeat sends all fields again."""
        self.waiting = False
        self.told = None

    def heartbeat(self) -> None:
        """Sends its subscription if that has changed, or when it joins."""
        request = ShareGroupHeartbeatRequest(self.group_id, self.member_id, self.epoch)
        subscription, incarnation = self.subscription, self.incarnation
        request.subscribed_topic_names = None if subscription == self.told else sorted(subscription)
        self.waiting = True

        def answered(response: ShareGroupHeartbeatResponse) -> None:
            if not self.alive or self.incarnation != incarnation:
                return
            self.waiting = False
            if response.error_code:
                self._refused(ErrorCode(response.error_code))
                return
            assert response.member_id == self.member_id
            assert response.member_epoch >= max(self.epoch, 1), f"{self}: epoch {response.member_epoch}"
            self.epoch = response.member_epoch
            self.told = subscription
            if response.assignment is not None:
                self.assigned = {
                    (topic.topic_id, index)
                    for topic in response.assignment.topic_partitions
                    for index in topic.partitions
                }

        self.harness.send(self.name, ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, answered)

    def _refused(self, error: ErrorCode) -> None:
        if error in ABANDONS:
            self.abandon()
        elif error is ErrorCode.GROUP_MAX_SIZE_REACHED:
            self.crash()
        else:
            assert error in TRIES_AGAIN, f"{self}: {error.name}"
            self.told = None
