"""The follower's side of an incremental fetch session: builds the requests, and checks that the answers fit.

Pure. Owns: the session id, the next epoch, the partitions as the leader knows them. Never does: I/O. Invariants: a
full request comes first, and again after every failure; an incremental one names only the partitions that are new, have
changed or left. Source: KIP-227; FetchSessionHandler, FetchMetadata.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_name, error_of
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse

from .copy import Copy

NO_SESSION_ID = 0
INITIAL_EPOCH = 0
MAX_EPOCH = 2**31 - 1

Key = tuple[bytes, int]
"""Topic id and partition index."""
Partitions = Mapping[Key, FetchRequest.FetchPartition]


class SessionRequest(NamedTuple):
    """The fields of a fetch request that depend on the session."""

    session_id: int
    session_epoch: int
    topics: list[FetchRequest.FetchTopic]
    forgotten: list[FetchRequest.ForgottenTopic]


class FetchSessionHandler:
    """The session with one leader."""

    def __init__(self) -> None:
        self._session_id = NO_SESSION_ID
        self._epoch = INITIAL_EPOCH
        self._partitions: dict[Key, FetchRequest.FetchPartition] = {}
        """The partitions of the last request, as the leader knows them after it."""

    @property
    def is_full(self) -> bool:
        """Whether the next or unanswered request names all partitions."""
        return self._epoch == INITIAL_EPOCH

    def build(self, wanted: Partitions) -> SessionRequest | None:
        """The next request, which fetches ``wanted``; None if it would neither fetch nor forget a partition.

        Each request that is built must be answered (:meth:`handle_response`) or fail (:meth:`handle_error`) before the
        next one.
        """
        changed: Partitions = wanted
        forgotten: list[Key] = []
        if self.is_full:
            if not wanted:
                return None
        else:
            known = self._partitions
            if not wanted and not known:
                return None
            changed = {key: partition for key, partition in wanted.items() if known.get(key) != partition}
            forgotten = [key for key in known if key not in wanted]
        self._partitions = dict(wanted)
        return SessionRequest(self._session_id, self._epoch, _topics(changed), _forgotten_topics(forgotten))

    def build_changes(self, changed: Partitions, forgotten: Iterable[Key]) -> SessionRequest | None:
        """The next incremental request, from the differences to the last one: ``changed`` partitions are added or
        fetched with other values, ``forgotten`` ones are left out from now on. None as for :meth:`build`. Must not be
        called if :attr:`is_full`.
        """
        known = self._partitions
        changed = {key: partition for key, partition in changed.items() if _differs(known.get(key), partition)}
        leaving = [key for key in forgotten if key in known]
        if not known and not changed:
            return None
        known.update(changed)
        for key in leaving:
            del known[key]
        return SessionRequest(self._session_id, self._epoch, _topics(changed), _forgotten_topics(leaving))

    def handle_response(self, response: FetchResponse) -> str | None:
        """Takes the session to its next epoch. Returns why the answer can't be used, None if it can."""
        if response.error_code:
            code = error_of(response.error_code)
            if code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._start_new(NO_SESSION_ID)
            else:
                self._start_new(self._session_id)
            return f"it answers {error_name(response.error_code)}"
        problem = self._problem(response)
        if problem is not None:
            self._start_new(NO_SESSION_ID if self.is_full else self._session_id)
        elif response.session_id == NO_SESSION_ID:
            self._start_new(NO_SESSION_ID)
        else:
            self._session_id = response.session_id
            self._epoch = 1 if self._epoch == MAX_EPOCH else self._epoch + 1
        return problem

    def handle_error(self) -> None:
        """Notes that the request failed, or that its answer was not processed to the end. The next request closes the
        session and opens a new one."""
        self._start_new(self._session_id)

    def _start_new(self, closes: int) -> None:
        self._session_id = closes
        self._epoch = INITIAL_EPOCH

    def _problem(self, response: FetchResponse) -> str | None:
        """Why the partitions of the answer do not fit the session; None if they do. An answer may have only partitions
        of the session, and the answer to a full request must have all of them."""
        known, extra = self._partitions, 0
        for topic in response.responses:
            for partition in topic.partitions:
                extra += (topic.topic_id, partition.partition_index) not in known
        if extra:
            return f"it answers {extra} partitions that are not in the session"
        if not self.is_full:
            return None
        answered = {
            (topic.topic_id, partition.partition_index)
            for topic in response.responses
            for partition in topic.partitions
        }
        missing = len(known) - len(answered)
        if missing:
            return f"{missing} partitions are missing from the answer to a full request"
        return None


def _differs(known: FetchRequest.FetchPartition | None, wanted: FetchRequest.FetchPartition) -> bool:
    """Whether a request must name a partition. Compares the offset first, since most differ in it: comparing all fields
    takes 3 us."""
    return known is None or known.fetch_offset != wanted.fetch_offset or known != wanted


def _topics(partitions: Partitions) -> list[FetchRequest.FetchTopic]:
    topics: dict[bytes, FetchRequest.FetchTopic] = {}
    for (topic_id, _), partition in partitions.items():
        topic = topics.setdefault(topic_id, FetchRequest.FetchTopic(topic_id=topic_id))
        topic.partitions.append(partition)
    return list(topics.values())


def _forgotten_topics(keys: Iterable[Key]) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[bytes, FetchRequest.ForgottenTopic] = {}
    for topic_id, index in keys:
        topics.setdefault(topic_id, FetchRequest.ForgottenTopic(topic_id=topic_id)).partitions.append(index)
    return list(topics.values())


FINAL_EPOCH = -1
"""The session epoch of a request without a session (``FetchMetadata.FINAL_EPOCH``)."""


def withdrawing(node_id: int, broker_epoch: int, copies: Iterable[Copy]) -> FetchRequest:
    """The request that tells a leader not to count on copies whose disk has no room. It must be sent after these copies
    have stopped fetching. The records in its answer are of no use.

    A leader waits for a follower that was caught up within ``replica.lag.time.max.ms`` (30 s), also after it has left
    the ISR: nothing would be acknowledged for that long (``Partition.maybeIncrementLeaderHW``). It does not wait for
    one whose last fetch has another broker epoch than its registration (KIP-903,
    ``Partition.isReplicaIsrEligible``), since that broker is about to register anew, for all that the leader knows. So
    this request has the next broker epoch. The first one of a copy with room has the right one again, with which it
    may join the ISR. Our own use of KIP-903; Kafka's broker ends itself instead.

    ``broker_epoch``: of this broker's registration.
    """
    topics: dict[bytes, FetchRequest.FetchTopic] = {}
    for copy in copies:
        topic_id = copy.partition.topic_id
        topic = topics.setdefault(topic_id, FetchRequest.FetchTopic(topic_id=topic_id, partitions=[]))
        partition = copy.request()
        partition.partition_max_bytes = 1
        topic.partitions.append(partition)
    return FetchRequest(
        replica_state=FetchRequest.ReplicaState(node_id, broker_epoch + 1),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1,
        session_id=NO_SESSION_ID,
        session_epoch=FINAL_EPOCH,
        topics=list(topics.values()),
    )
