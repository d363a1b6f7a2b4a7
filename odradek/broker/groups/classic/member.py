"""A member of a classic group. Source: ``ClassicGroupMember``."""

from collections.abc import Iterable

from ...coordinator.effects import SetTimer, TimerKey, Token
from ..effects import MemberExpired, session_key
from ..memory import MEMBER_BYTES, protocol_bytes

Protocols = list[tuple[str, bytes]]
"""The protocols that a member supports with its metadata (subscription) for each, the preferred first."""


class ClassicMember:
    """A member: its ids, its protocols, its assignment, and its parked requests.

    ``join_token`` and ``sync_token`` name a parked JoinGroup or SyncGroup. ``is_new``: the member has not been part of
    a generation yet. A timer removes a new member even while its JoinGroup is parked, because a lost connection is not
    noticed.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "join_token",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_key",
        "session_timer",
        "sync_token",
    )

    def __init__(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.join_token: Token | None = None
        self.sync_token: Token | None = None
        self.is_new = False
        self.session_key: TimerKey = session_key(group_id, member_id)
        self.session_timer = SetTimer(self.session_key, session_timeout_ms, MemberExpired(group_id, member_id))
        """The effect that restarts the member's session. It is created once, because every heartbeat uses it."""

    @property
    def session_timeout_ms(self) -> int:
        """How long the member may send nothing before it is removed, in ms."""
        return self.session_timer.delay_ms

    @session_timeout_ms.setter
    def session_timeout_ms(self, timeout_ms: int) -> None:
        self.session_timer = self.session_timer._replace(delay_ms=timeout_ms)

    @property
    def is_static(self) -> bool:
        """Whether it has a group.instance.id (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether its JoinGroup is parked."""
        return self.join_token is not None

    def metadata(self, protocol_name: str) -> bytes:
        """Returns the metadata (subscription) that the member sent for a protocol. The member must support it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        raise AssertionError(f"member {self.member_id} does not support {protocol_name}")

    def has_satisfied_heartbeat(self) -> bool:
        """Whether the member counts as alive without a heartbeat: one of its requests is parked, and it is not new."""
        return not self.is_new and (self.join_token is not None or self.sync_token is not None)

    def vote(self, candidates: Iterable[str]) -> str:
        """Returns the protocol among ``candidates`` that the member prefers."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise AssertionError(f"member {self.member_id} supports none of {sorted(candidates)}")


def bytes_of(protocols: Protocols) -> int:
    """Returns the estimated bytes of memory of a classic member with these protocols."""
    return MEMBER_BYTES + protocol_bytes(protocols)
