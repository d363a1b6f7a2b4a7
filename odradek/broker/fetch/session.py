"""Incremental fetch sessions: the broker stores what a consumer fetches, and answers only with changes.

Pure. Owns: the cache of sessions and the values last sent to each client. Never does: I/O, reading logs, a clock.
Invariants: a session's epoch is the next one expected; at most ``max_sessions`` exist, with at most MOST_PARTITIONS
partitions together; a session has requests with topic ids or requests with names, never both; consumers leave room for
followers, and one owner of sessions for the others. Source: KIP-227, KIP-516; ``FetchSession.scala``
(``FetchSessionCacheShard.tryEvict``) and ``FetchManager``. The shares of owners are ours.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from ..replicas.partition import Partition

NO_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
MOST_PARTITIONS = 1 << 17
"""The maximum of partitions of all sessions together: about 50 MB. Kafka limits only the number of sessions."""

EVICTED_AT_ONCE = 16
"""The most sessions that make room for a new one: 0.3 ms each. Then the client fetches without one, and asks again."""

PartitionKey = tuple[bytes, str, int]
"""(topic id or 16 zero bytes, topic name or "", partition index): identifies a partition in the request."""


class SessionPartition:
    """A partition of a session: what to fetch, and the values last sent to the client.

    ``topic_name`` is that of the request ("" in requests by id). ``resolved_name`` is looked up once and then kept, so
    that a session notices if its topic is deleted and created again with another id (KIP-516).
    """

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "known",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "resolved_name",
        "sent_high_watermark",
        "sent_log_start_offset",
        "still",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        topic_id: bytes,
        topic_name: str,
        index: int,
        fetch_offset: int,
        max_bytes: int,
        current_leader_epoch: int,
        last_fetched_epoch: int,
        log_start_offset: int = -1,
    ) -> None:
        """``log_start_offset``: of a follower's log."""
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.resolved_name = topic_name
        self.index = index
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.sent_high_watermark = -1
        self.sent_log_start_offset = -1
        self.still: Partition | None = None
        """The partition, once a follower has read it at this offset: there may be nothing new since. None before."""
        self.known: Partition | None = None
        """The partition, once a follower has read it in this session. None before."""

    @property
    def key(self) -> PartitionKey:
        """The key of the partition in the request."""
        return (self.topic_id, self.topic_name, self.index)

    def ask_again(self, wanted: "SessionPartition") -> None:
        """Updates the partition from a later request of the session."""
        self.fetch_offset = wanted.fetch_offset
        self.max_bytes = wanted.max_bytes
        self.current_leader_epoch = wanted.current_leader_epoch
        self.last_fetched_epoch = wanted.last_fetched_epoch
        self.log_start_offset = wanted.log_start_offset
        self.still = None

    def unsent(self) -> None:
        """Forgets what :meth:`must_answer` stored, because it was not sent. The next answer includes this partition."""
        self.sent_high_watermark = self.sent_log_start_offset = -1

    def must_answer(
        self, error_code: int, records_bytes: int, high_watermark: int, log_start_offset: int, is_elsewhere: bool
    ) -> bool:
        """Whether an incremental answer must include this partition. Stores the values that are sent.

        ``is_elsewhere``: the answer has a diverging epoch or a preferred read replica.
        """
        answer = records_bytes > 0 or is_elsewhere
        if self.sent_high_watermark != high_watermark:
            answer = True
            self.sent_high_watermark = high_watermark
        if self.sent_log_start_offset != log_start_offset:
            answer = True
            self.sent_log_start_offset = log_start_offset
        if error_code != ErrorCode.NONE:
            # The next answer without the error must be sent even if the high watermark has not moved.
            self.sent_high_watermark = -1
            answer = True
        return answer


class SessionOwner(NamedTuple):
    """Who opens a session. ``name``: the principal, or the address of a client that has none."""

    name: str
    is_follower: bool = False


ANYONE = SessionOwner("")


class FetchSession:
    """One client's session."""

    __slots__ = ("created_ms", "epoch", "last_used_ms", "owner", "partitions", "session_id", "uses_topic_ids")

    def __init__(
        self,
        session_id: int,
        uses_topic_ids: bool,
        partitions: dict[PartitionKey, SessionPartition],
        now_ms: int,
        owner: SessionOwner,
    ) -> None:
        self.session_id = session_id
        self.owner = owner
        self.uses_topic_ids = uses_topic_ids
        self.partitions = partitions
        self.epoch = INITIAL_EPOCH + 1
        self.created_ms = now_ms
        self.last_used_ms = now_ms

    def served(self, key: PartitionKey) -> None:
        """Moves a partition that returned records to the end, so that none starves (as Kafka does)."""
        partition = self.partitions.pop(key, None)
        if partition is not None:
            self.partitions[key] = partition


@dataclass(slots=True)
class FetchContext:
    """What one request fetches: its partitions in order, and the kind of its answer.

    Not frozen, because a frozen one takes 1 us to make.
    """

    partitions: list[SessionPartition]
    session: FetchSession | None
    incremental: bool
    error: ErrorCode = ErrorCode.NONE

    @property
    def session_id(self) -> int:
        """The session id to answer with (0 for none)."""
        return NO_SESSION_ID if self.session is None else self.session.session_id


class FetchSessionCache:
    """The sessions of one broker."""

    def __init__(
        self, max_sessions: int, eviction_ms: int, random: Random, max_partitions: int = MOST_PARTITIONS
    ) -> None:
        """``max_sessions``: ``max.incremental.fetch.session.cache.slots``; ``eviction_ms``: the time without use after
        which a new session may replace one (120,000 in Kafka); ``random`` draws session ids;
        ``max_partitions``: of all sessions together.
        """
        self._max_partitions = max_partitions
        self._max_sessions = max_sessions
        self._eviction_ms = eviction_ms
        self._random = random
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[FetchSession]:
        return iter(self._sessions.values())

    def context(
        self,
        session_id: int,
        epoch: int,
        wanted: dict[PartitionKey, SessionPartition],
        forgotten: list[PartitionKey],
        uses_topic_ids: bool,
        now_ms: int,
        owner: SessionOwner = ANYONE,
    ) -> FetchContext:
        """Opens, continues or closes the session of a request. Returns what the request fetches.

        A new session stores ``wanted`` itself, not a copy. ``owner``: who sent the request.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION_ID:
                self._sessions.pop(session_id, None)
            session = None
            if epoch == INITIAL_EPOCH:
                session = self._open(wanted, uses_topic_ids, now_ms, owner)
            return FetchContext(list(wanted.values()), session, incremental=False)
        session = self._sessions.get(session_id)
        if session is None:
            return FetchContext([], None, incremental=False, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.uses_topic_ids != uses_topic_ids:
            return FetchContext([], None, incremental=False, error=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if session.epoch != epoch:
            return FetchContext([], None, incremental=False, error=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if not self._update(session, wanted, forgotten, now_ms):
            del self._sessions[session_id]
            return FetchContext([], None, incremental=False, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not session.partitions:
            del self._sessions[session_id]
            return FetchContext([], None, incremental=False)
        session.epoch = 1 if epoch == MAX_EPOCH else epoch + 1
        return FetchContext(list(session.partitions.values()), session, incremental=True)

    def session_of_one(self, session_id: int, epoch: int, uses_topic_ids: bool) -> FetchSession | None:
        """The session that a request continues, if that has one partition and the request is the next one."""
        session = self._sessions.get(session_id)
        if session is None or session.epoch != epoch or session.uses_topic_ids != uses_topic_ids:
            return None
        return session if len(session.partitions) == 1 else None

    def advance(self, session: FetchSession, now_ms: int) -> None:
        """Continues a session of :meth:`session_of_one` after a request that changes none of its partitions."""
        session.last_used_ms = now_ms
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1

    def discard(self, session: FetchSession) -> None:
        """Removes a new session whose id is not sent to the client."""
        self._sessions.pop(session.session_id, None)

    def _update(
        self,
        session: FetchSession,
        wanted: dict[PartitionKey, SessionPartition],
        forgotten: list[PartitionKey],
        now_ms: int,
    ) -> bool:
        """Applies a later request. Returns False if the session has grown and the sessions have too many partitions."""
        session.last_used_ms = now_ms
        before = len(session.partitions)
        for key, partition in wanted.items():
            known = session.partitions.get(key)
            if known is None:
                session.partitions[key] = partition
            else:
                known.ask_again(partition)
        for key in forgotten:
            session.partitions.pop(key, None)
        return len(session.partitions) <= before or self._partitions() <= self._max_partitions

    def _partitions(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def _open(
        self, wanted: dict[PartitionKey, SessionPartition], uses_topic_ids: bool, now_ms: int, owner: SessionOwner
    ) -> FetchSession | None:
        """A new session; None if the cache has no room for it (the client then fetches without one)."""
        if len(wanted) > self._max_partitions:
            return None
        evicted = 0
        while len(self._sessions) >= self._max_sessions or self._partitions() + len(wanted) > self._max_partitions:
            if evicted == EVICTED_AT_ONCE:
                return None
            evicted += 1
            victim = self._stale(now_ms) or self._less_valuable(owner, len(wanted), now_ms)
            victim = victim or self._of_largest_share(owner, len(wanted))
            if victim is None:
                return None
            del self._sessions[victim.session_id]
        session_id = self._random.randrange(1, 2**31)
        while session_id in self._sessions:
            session_id = self._random.randrange(1, 2**31)
        session = FetchSession(session_id, uses_topic_ids, wanted, now_ms, owner)
        self._sessions[session_id] = session
        return session

    def _stale(self, now_ms: int) -> FetchSession | None:
        """The least recently used session, if it was not used for a long time."""
        oldest = min(self._sessions.values(), key=lambda session: session.last_used_ms, default=None)
        return None if oldest is None or now_ms - oldest.last_used_ms <= self._eviction_ms else oldest

    def _less_valuable(self, owner: SessionOwner, size: int, now_ms: int) -> FetchSession | None:
        """By Kafka's rule, a session that makes room for a more valuable new one with ``size`` partitions.

        A session of a follower is more valuable than one of a consumer, and then one with more partitions. A session
        that was opened lately stays, unless it is a consumer's and makes room for a follower's.
        """
        cheapest = min(
            (
                session
                for session in self._sessions.values()
                if session.last_used_ms - session.created_ms > self._eviction_ms
                or (owner.is_follower and not session.owner.is_follower)
            ),
            key=lambda session: (session.owner.is_follower, len(session.partitions), session.session_id),
            default=None,
        )
        if cheapest is None or (owner.is_follower, size) <= (cheapest.owner.is_follower, len(cheapest.partitions)):
            return None
        return cheapest

    def _of_largest_share(self, owner: SessionOwner, size: int) -> FetchSession | None:
        """The least recently used session of the consumer that takes the most room, if that consumer would still take
        at least as much as the owner of the new session.
        """
        is_full = len(self._sessions) >= self._max_sessions
        shares: Counter[SessionOwner] = Counter()
        for session in self._sessions.values():
            shares[session.owner] += 1 if is_full else len(session.partitions)
        others = [share for share in shares if not share.is_follower and share != owner]
        largest = max(others, key=shares.__getitem__, default=None)
        if largest is None or shares[largest] <= shares[owner] + (1 if is_full else size):
            return None
        own = (session for session in self._sessions.values() if session.owner == largest)
        return min(own, key=lambda session: session.last_used_ms)
