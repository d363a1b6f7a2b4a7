"""A consumer of a share group: many members share the records of a partition, and acknowledge each one.

Owns: the records that were fetched and not taken, those that are taken and not acknowledged. Never does: heartbeats
(:mod:`.share_member`), requests for records (:mod:`.broker_session`). Source: ``KafkaShareConsumer``; KIP-932.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from enum import IntEnum
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareFetchResponse

from ..cluster.cluster import Cluster, ClusterTimes
from ..consumer.fetched import FetchedPartition
from ..errors import ClientError, ConfigurationError, broker_error, one_of
from ..types import ConsumerRecord, TopicPartition
from .broker_session import BrokerSession, Place, ShareFetchLimits
from .share_member import ShareMember

if TYPE_CHECKING:
    from ..security.secured import ConnectionSecurity

ACQUIRE_MODES = {"batch_optimized": False, "record_limit": True}
ACKNOWLEDGEMENT_MODES = {"implicit": False, "explicit": True}
LOOK_FOR_LEADER = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
)
GAP = 0
NO_BROKER = -1


class AcknowledgeType(IntEnum):
    """What became of a record."""

    ACCEPT = 1
    """It was processed."""
    RELEASE = 2
    """Any member may get it again."""
    REJECT = 3
    """It can't be processed."""


class ShareRecord(NamedTuple):
    """A record with the number of its deliveries."""

    record: ConsumerRecord
    delivery_count: int

    @property
    def place(self) -> tuple[TopicPartition, int]:
        """Its partition and offset."""
        return self.record.topic_partition, self.record.offset


class ShareConsumer:
    """An asyncio consumer of a share group. Times in ms, sizes in bytes; arguments have the names of Kafka's keys.

    With ``share_acknowledgement_mode="implicit"`` the next :meth:`poll` accepts the records of the last one. With
    ``"explicit"`` each record is acknowledged by :meth:`acknowledge` before the next :meth:`poll`.
    """

    def __init__(
        self,
        *topics: str,
        group_id: str,
        bootstrap_servers: str | Sequence[str] = "localhost:9092",
        client_id: str = "odradek-share-consumer",
        client_rack: str = "",
        share_acknowledgement_mode: str = "implicit",
        share_acquire_mode: str = "batch_optimized",
        max_poll_records: int = 500,
        fetch_min_bytes: int = 1,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 52_428_800,
        check_crcs: bool = True,
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        retry_backoff_ms: float = 100,
        retry_backoff_max_ms: float = 1_000,
        metadata_max_age_ms: float = 300_000,
        security: "ConnectionSecurity | Mapping[str, str] | None" = None,
    ) -> None:
        """Raises ConfigurationError."""
        if not group_id:
            raise ConfigurationError("a share consumer needs a group_id")
        self._topics = frozenset(topics)
        self._group_id = group_id
        self._rack_id = client_rack or None
        self._is_explicit = one_of("share_acknowledgement_mode", share_acknowledgement_mode, ACKNOWLEDGEMENT_MODES)
        is_exact = one_of("share_acquire_mode", share_acquire_mode, ACQUIRE_MODES)
        self._limits = ShareFetchLimits(fetch_min_bytes, fetch_max_wait_ms, fetch_max_bytes, max_poll_records, is_exact)
        self._check_crcs = check_crcs
        self._cluster = Cluster(
            bootstrap_servers,
            client_id=client_id,
            times=ClusterTimes(
                request_timeout_ms, connection_timeout_ms, retry_backoff_ms, retry_backoff_max_ms, metadata_max_age_ms
            ),
            security=security,
        )
        self._cluster.wanted_topics = set(self._topics)
        self._member: ShareMember | None = None
        self._sessions: dict[int, BrokerSession] = {}
        self._fetches: dict[int, asyncio.Task[None]] = {}
        self._news = asyncio.Event()
        self._arrived: deque[tuple[int, Place, ShareRecord]] = deque()
        self._taken: dict[tuple[TopicPartition, int], tuple[int, Place, int]] = {}
        """Partition and offset -> broker, place and offset, of the records that the application has."""
        self._error: Exception | None = None

    # Start and stop

    async def start(self) -> None:
        """Connects and joins the group. Raises NoBrokersAvailableError."""
        try:
            await self._cluster.start(self._topics)
        except BaseException:
            await self._cluster.close()
            raise
        self._member = ShareMember(self._cluster, self._group_id, self._rack_id, self._topics, self._news.set)
        self._member.begin()

    async def stop(self) -> None:
        """Sends the acknowledgements, releases the other records, leaves the group and closes all connections."""
        try:
            if not self._is_explicit:
                self._accept_taken()
            for task in self._fetches.values():
                task.cancel()
            await asyncio.gather(*self._fetches.values(), return_exceptions=True)
            for session in self._sessions.values():
                try:
                    await session.send(is_last=True)
                except (ClientError, KafkaError):
                    session.lose()  # the broker releases the records when the connection ends
            if self._member is not None:
                await self._member.leave()
        finally:
            await self._cluster.close()

    async def __aenter__(self) -> Self:
        """Starts."""
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops."""
        await self.stop()

    # Records

    async def poll(self, timeout_ms: float = 0) -> list[ShareRecord]:
        """At most ``max_poll_records`` records; an empty list if none has come within ``timeout_ms``.

        Raises ConfigurationError if records of the last poll are not acknowledged in the explicit mode, or the error
        that ended the membership.
        """
        if self._is_explicit and self._taken:
            raise ConfigurationError("acknowledge() all records before the next poll()")
        self._accept_taken()
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1_000
        while not self._arrived:
            self._raise_error()
            self._news.clear()
            self._send_fetches()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._news.wait()
            except TimeoutError:
                break
        self._raise_error()
        records: list[ShareRecord] = []
        while self._arrived and len(records) < self._limits.max_records:
            broker_id, place, record = self._arrived.popleft()
            self._taken[record.place] = broker_id, place, record.record.offset
            records.append(record)
        return records

    def acknowledge(self, record: ShareRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Says what became of a record of the last poll. It is sent with the next poll or :meth:`commit`.

        Raises ConfigurationError for another record, or one that was acknowledged already.
        """
        try:
            broker_id, place, offset = self._taken.pop(record.place)
        except KeyError:
            raise ConfigurationError(f"{record.place} is not a record of the last poll") from None
        self._sessions[broker_id].acknowledge(place, offset, kind)

    def _accept_taken(self) -> None:
        for broker_id, place, offset in self._taken.values():
            self._sessions[broker_id].acknowledge(place, offset, AcknowledgeType.ACCEPT)
        self._taken.clear()

    async def commit(self) -> dict[TopicPartition, KafkaError | None]:
        """Sends the acknowledgements now; in the implicit mode accepts the records of the last poll first.

        Returns the result of each partition: an error means that some or all of its records were not acknowledged.
        """
        if not self._is_explicit:
            self._accept_taken()
        results: dict[TopicPartition, KafkaError | None] = {}
        for session in self._sessions.values():
            waiting = list(session.acknowledged)
            try:
                found = await session.send()
            except KafkaError as error:
                found = dict.fromkeys(waiting, error)
            except ClientError as error:
                session.lose()
                found = dict.fromkeys(waiting, KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error)))
            names = self._cluster.metadata.topic_names
            results |= {TopicPartition(names[topic], number): error for (topic, number), error in found.items()}
        return results

    # Fetching

    def _send_fetches(self) -> None:
        """Sends a ShareFetch to each broker that leads an assigned partition and has none in flight."""
        assert self._member is not None, "start() was not called"
        names, by_broker = self._cluster.metadata.topic_names, dict[int, set[Place]]()
        for topic_id, number in self._member.assigned:
            name = names.get(topic_id)
            leader = None if name is None else self._cluster.metadata.leader(name, number)
            if leader is None:
                self._spawn(NO_BROKER, self._look_for_leaders)
            else:
                by_broker.setdefault(leader.leader, set()).add((topic_id, number))
        for broker_id, places in by_broker.items():
            self._spawn(broker_id, partial(self._fetch, broker_id, places))

    def _spawn(self, key: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if key in self._fetches:
            return

        def done(task: "asyncio.Task[None]") -> None:
            del self._fetches[key]
            if not task.cancelled() and (failure := task.exception()) is not None:
                self._error = failure if isinstance(failure, Exception) else self._error
            self._news.set()

        task = self._fetches[key] = asyncio.create_task(work())
        task.add_done_callback(done)

    async def _look_for_leaders(self) -> None:
        try:
            await self._cluster.refresh(self._topics)
        except (ClientError, KafkaError):
            await asyncio.sleep(self._cluster.backoff_s(0))

    async def _fetch(self, broker_id: int, places: set[Place]) -> None:
        assert self._member is not None
        session = self._sessions.get(broker_id)
        if session is None:
            session = BrokerSession(self._cluster, broker_id, self._group_id, self._member.member_id, self._limits)
            self._sessions[broker_id] = session
        try:
            response = await session.fetch(places)
        except KafkaError as error:
            if not error.error_code.retriable and error.error_code not in (
                ErrorCode.SHARE_SESSION_NOT_FOUND,
                ErrorCode.INVALID_SHARE_SESSION_EPOCH,
            ):
                raise
            await asyncio.sleep(self._cluster.backoff_s(0))
            return
        except ClientError:
            session.lose()
            await self._look_for_leaders()
            await asyncio.sleep(self._cluster.backoff_s(0))
            return
        await self._take(broker_id, session, response)

    async def _take(self, broker_id: int, session: BrokerSession, response: ShareFetchResponse) -> None:
        names = self._cluster.metadata.topic_names
        has_moved = False
        for topic in response.responses:
            for one in topic.partitions:
                place = (topic.topic_id, one.partition_index)
                name = names.get(topic.topic_id)
                if one.error_code in LOOK_FOR_LEADER:
                    has_moved = True
                elif one.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                    raise broker_error(one.error_code, f"topic '{name}'")
                elif name is not None and one.acquired_records:
                    self._decode(broker_id, session, place, TopicPartition(name, one.partition_index), one)
        if has_moved:
            await self._look_for_leaders()

    def _decode(
        self,
        broker_id: int,
        session: BrokerSession,
        place: Place,
        partition: TopicPartition,
        data: ShareFetchResponse.PartitionData,
    ) -> None:
        """Adds the acquired records. Offsets without a record that the application can see are acknowledged as gaps."""
        first = data.acquired_records[0].first_offset
        fetched = FetchedPartition(
            partition, first, data.records or b"", aborted_transactions=None, check_crcs=self._check_crcs
        )
        records: dict[int, ConsumerRecord] = {}
        while not fetched.is_drained:
            for record in fetched.take(self._limits.max_records):
                records[record.offset] = record
        for acquired in data.acquired_records:
            for offset in range(acquired.first_offset, acquired.last_offset + 1):
                found = records.get(offset)
                if found is None:
                    session.acknowledge(place, offset, GAP)
                else:
                    self._arrived.append((broker_id, place, ShareRecord(found, acquired.delivery_count)))

    def _raise_error(self) -> None:
        assert self._member is not None, "start() was not called"
        error, self._error = self._error or self._member.fatal, None
        if error is not None:
            raise error
