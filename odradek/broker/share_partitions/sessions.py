"""Share sessions: which partitions a member of a share group fetches, and how often it has asked.

Pure. Owns: the sessions. Never does: releasing records. Invariants: a session belongs to one connection, and ends with
it; if there is room for no more, whoever takes the most makes room for those who take less.
Source: ``ShareSessionCache``, ``ShareSession``, ``SharePartitionManager.newContext``.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from odradek.protocol.errors import ErrorCode, KafkaError

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
MOST_PARTITIONS = 1 << 17
"""The maximum of partitions of all sessions together: about 30 MB. Kafka limits only the number of sessions."""

TopicIdPartition = tuple[bytes, int]
"""A topic id and the index of a partition."""
SessionKey = tuple[str, str]
"""A group id and a member id."""


def next_epoch(epoch: int) -> int:
    """The epoch after one; 1 follows the largest."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


class ShareSession:
    """One session. ``partitions``: its partitions, in the order of service, with whether the next answer must name each
    even if it has nothing new. ``owner``: the principal who opened it, or the address of a client that has none."""

    __slots__ = ("connection_id", "epoch", "key", "owner", "partitions")

    def __init__(
        self, key: SessionKey, partitions: Iterable[TopicIdPartition], connection_id: int, owner: str = ""
    ) -> None:
        self.key = key
        self.owner = owner
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.partitions: dict[TopicIdPartition, bool] = dict.fromkeys(partitions, False)
        self.connection_id = connection_id

    def update(self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """Adds and removes partitions."""
        for partition in added:
            self.partitions.setdefault(partition, True)
        for partition in forgotten:
            self.partitions.pop(partition, None)

    def in_turn(self, epoch: int) -> list[TopicIdPartition]:
        """The partitions, beginning with another one at each request (``PartitionRotateStrategy``)."""
        partitions = list(self.partitions)
        if len(partitions) < 2 or epoch < 1:
            return partitions
        turn = epoch % len(partitions)
        return partitions[turn:] + partitions[:turn]

    def must_name(self, partition: TopicIdPartition, *, has_records: bool, has_error: bool) -> bool:
        """Whether an answer names the partition, and notes that it does. One with records is served last next time."""
        news = self.partitions.get(partition, False)
        if partition not in self.partitions:
            return has_records or has_error
        if has_error:
            self.partitions[partition] = True
        elif news:
            self.partitions[partition] = False
        if has_records:
            self.partitions[partition] = self.partitions.pop(partition)
        return news or has_records or has_error


class ShareSessions:
    """All sessions of the broker."""

    def __init__(self, most: int, most_partitions: int = MOST_PARTITIONS) -> None:
        """``most``: ``group.share.max.share.sessions``. ``most_partitions``: of all sessions together."""
        self._most = most
        self._most_partitions = most_partitions
        self.partitions = 0
        """The partitions of all sessions together."""
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._of_connection: dict[int, set[SessionKey]] = {}
        """The sessions that each connection has opened, also those that have ended."""
        self._of_group: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def update(
        self, session: ShareSession, added: Collection[TopicIdPartition], forgotten: Iterable[TopicIdPartition]
    ) -> None:
        """Adds partitions to a session and removes others. Raises KafkaError SHARE_SESSION_LIMIT_REACHED."""
        if self.partitions + len(added) > self._most_partitions:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        before = len(session.partitions)
        session.update(added, forgotten)
        self.partitions += len(session.partitions) - before

    def find(self, group_id: str, member_id: str) -> ShareSession | None:
        """The session of a member, or None."""
        return self._sessions.get((group_id, member_id))

    def has_members(self, group_id: str) -> bool:
        """Whether a member of the group has a session here."""
        return group_id in self._of_group

    def to_end_for(self, key: SessionKey, owner: str, partitions: int) -> SessionKey | None:
        """The session that must end so that a member gets a session with ``partitions``, or as many more in the one it
        has. None if there is room, or if the owner would then take more than any other.

        It is the oldest one of the owner who takes the most. Kafka has no such rule: there, one client that opens all
        sessions leaves none for others.
        """
        is_full = key not in self._sessions and len(self._sessions) >= self._most
        if not is_full and self.partitions + partitions <= self._most_partitions:
            return None
        taken: Counter[str] = Counter()
        for session in self._sessions.values():
            taken[session.owner] += 1 if is_full else len(session.partitions)
        largest = max((one for one in taken if one != owner), key=taken.__getitem__, default=owner)
        if taken[largest] <= taken[owner] + (1 if is_full else partitions):
            return None
        return next(session.key for session in self._sessions.values() if session.owner == largest)

    def open(
        self, key: SessionKey, partitions: Iterable[TopicIdPartition], connection_id: int, owner: str = ""
    ) -> ShareSession:
        """Opens a session in place of one that the member has. Raises KafkaError SHARE_SESSION_LIMIT_REACHED."""
        self.remove(key)
        wanted = dict.fromkeys(partitions)
        if len(self._sessions) >= self._most or self.partitions + len(wanted) > self._most_partitions:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, wanted, connection_id, owner)
        self.partitions += len(wanted)
        self._of_connection.setdefault(connection_id, set()).add(key)
        self._of_group[key[0]] = self._of_group.get(key[0], 0) + 1
        return session

    def existing(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session of a member. Raises KafkaError SHARE_SESSION_NOT_FOUND or INVALID_SHARE_SESSION_EPOCH (another
        epoch than the expected one; FINAL_EPOCH is always right)."""
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch not in (FINAL_EPOCH, session.epoch):
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        return session

    def remove(self, key: SessionKey) -> ShareSession | None:
        """Ends a session and returns it; None if there is none."""
        session = self._sessions.pop(key, None)
        if session is None:
            return None
        self.partitions -= len(session.partitions)
        left = self._of_group[key[0]] - 1
        if left:
            self._of_group[key[0]] = left
        else:
            del self._of_group[key[0]]
        return session

    def connection_closed(self, connection_id: int) -> tuple[list[SessionKey], set[str]]:
        """Forgets a connection. Returns its sessions, and the groups of all sessions that it ever had."""
        keys = self._of_connection.pop(connection_id, set())
        open_now = [key for key in keys if key in self._sessions and self._sessions[key].connection_id == connection_id]
        return open_now, {group_id for group_id, _ in keys}
