"""Transactions on one broker: named producers with a transactional id, and the answers to their requests.

Producer ids differ between brokers, so they are numbered in the order in which they first appear. Kafka writes markers
after its answer to EndTxn. Requests that it refuses with CONCURRENT_TRANSACTIONS until then are repeated.
"""

import contextlib
import time
from typing import Any

from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetFetchRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from odradek.protocol.records.batch import iterate_headers
from parity.side import DEADLINE_S, Side, batch, fetch_request
from parity.two_brokers import VERIFIED_ALONE
from parity.world import ZERO_UUID

CONCURRENT_TRANSACTIONS = 51
NOT_ENOUGH_REPLICAS = 19
TIMEOUT_MS = 60_000


class Producer:
    """The state of a client: its id and epoch, and its sequences."""

    def __init__(self) -> None:
        self.producer_id = self.producer_epoch = -1
        self.sequences: dict[int, int] = {}

    def take(self, producer_id: int, producer_epoch: int) -> None:
        if (producer_id, producer_epoch) != (self.producer_id, self.producer_epoch):
            self.producer_id, self.producer_epoch = producer_id, producer_epoch
            self.sequences = {}


class Transactional:
    """One transactional id, its topic and its group, on one broker."""

    def __init__(self, side: Side, name: str, *, topic: str | None = None, indexes: tuple[int, ...] = (0, 1)) -> None:
        """``topic``: an existing topic whose partitions ``indexes`` only this instance uses. Default: a new topic."""
        self.side = side
        self.name = name
        self.topic = topic or side.topic(f"{name}-topic", len(indexes))
        self.indexes = indexes
        self.group = side.group(f"{name}-group")
        self.producers: dict[str, Producer] = {}
        self._ids: dict[int, str] = {-1: "none"}
        deadline = time.monotonic() + DEADLINE_S
        while side.ask(FindCoordinatorRequest(name, 1), 3)["errorCode"] or self.describe()["errorCode"] not in (0, 105):
            assert time.monotonic() < deadline, f"no coordinator of {name}"

    def who(self, name: str) -> Producer:
        return self.producers.setdefault(name, Producer())

    def _id(self, producer_id: int) -> str:
        return self._ids.setdefault(producer_id, f"id {len(self._ids)}")

    def _ask(self, request: Message, version: int) -> Any:
        """Sends a request until it is not refused with CONCURRENT_TRANSACTIONS. Returns the answer."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            with VERIFIED_ALONE if isinstance(request, TxnOffsetCommitRequest) else contextlib.nullcontext():
                body = self.side.ask(request, version)
            if CONCURRENT_TRANSACTIONS not in _errors(body) or time.monotonic() > deadline:
                return body

    def init(
        self, who: str = "a", *, known: bool = False, version: int = 4, timeout_ms: int = TIMEOUT_MS
    ) -> tuple[int, str, int]:
        """InitProducerId. ``known``: sends the producer's current id and epoch."""
        producer = self.who(who)
        had = (producer.producer_id, producer.producer_epoch) if known else (-1, -1)
        body = self._ask(InitProducerIdRequest(self.name, timeout_ms, *had), version)
        if not body["errorCode"]:
            producer.take(body["producerId"], body["producerEpoch"])
        return body["errorCode"], self._id(body["producerId"]), body["producerEpoch"]

    def add(self, who: str = "a", *indexes: int, version: int = 3, topic: str | None = None) -> Any:
        """AddPartitionsToTxn, as clients send it."""
        producer = self.who(who)
        wanted = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
            topic or self.topic, list(indexes or self.indexes[:1])
        )
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[wanted],
        )
        results = self._ask(request, version)["resultsByTopicV3AndBelow"]
        return sorted(
            (result["partitionIndex"], result["partitionErrorCode"])
            for one in results
            for result in one["resultsByPartition"]
        )

    def produce(
        self, who: str = "a", index: int | None = None, *, version: int = 11, sequence: int | None = None
    ) -> Any:
        """Produces one record with the next sequence. Returns the error and the offset."""
        producer = self.who(who)
        index = self.indexes[0] if index is None else index
        first = producer.sequences.get(index, 0) if sequence is None else sequence
        data = batch(
            first,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=first,
            is_transactional=True,
        )
        partition = ProduceRequest.PartitionProduceData(index, data)
        request = ProduceRequest(
            self.name, -1, 10_000, [ProduceRequest.TopicProduceData(self.topic, partition_data=[partition])]
        )
        deadline = time.monotonic() + DEADLINE_S
        while True:
            with VERIFIED_ALONE:
                answer = self.side.ask(request, version)["responses"][0]["partitionResponses"][0]
            busy = answer["errorCode"] in (CONCURRENT_TRANSACTIONS, NOT_ENOUGH_REPLICAS)
            if not busy or time.monotonic() > deadline:
                break
        if not answer["errorCode"]:
            producer.sequences[index] = first + 1
        return answer["errorCode"], answer["baseOffset"]

    def offsets(self, who: str = "a", *, version: int = 3) -> int:
        """AddOffsetsToTxn."""
        producer = self.who(who)
        request = AddOffsetsToTxnRequest(self.name, producer.producer_id, producer.producer_epoch, self.group)
        return int(self._ask(request, version)["errorCode"])

    def commit(self, who: str = "a", offset: int = 1, *, version: int = 3, **fields: Any) -> int:
        """TxnOffsetCommit."""
        producer = self.who(who)
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, offset)
        topic_id = self.side.topic_ids.get(self.topic, ZERO_UUID)
        topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(self.topic, topic_id, [partition])
        request = TxnOffsetCommitRequest(
            self.name, self.group, producer.producer_id, producer.producer_epoch, topics=[topic], **fields
        )
        return int(self._ask(request, version)["topics"][0]["partitions"][0]["errorCode"])

    def end(self, who: str = "a", *, commit: bool = True, version: int = 3) -> Any:
        """EndTxn. From version 5 on, the producer takes the epoch of the answer."""
        producer = self.who(who)
        body = self._ask(EndTxnRequest(self.name, producer.producer_id, producer.producer_epoch, commit), version)
        self.describe()  # waits for Kafka's markers: an earlier batch would join the ended transaction
        if version < 5:
            return body["errorCode"]
        if not body["errorCode"]:
            producer.take(body["producerId"], body["producerEpoch"])
        return body["errorCode"], self._id(body["producerId"]), body["producerEpoch"]

    def mark(
        self,
        who: str = "a",
        *,
        later: int = 0,
        transaction_version: int = 2,
        coordinator_epoch: int = 0,
        version: int = 2,
    ) -> Any:
        """WriteTxnMarkers to the first partition and one of __consumer_offsets. ``later`` is added to the epoch."""
        producer = self.who(who)
        topics = [
            WriteTxnMarkersRequest.WritableTxnMarkerTopic(self.topic, [self.indexes[0]]),
            WriteTxnMarkersRequest.WritableTxnMarkerTopic("__consumer_offsets", [0]),
        ]
        marker = WriteTxnMarkersRequest.WritableTxnMarker(
            producer.producer_id,
            producer.producer_epoch + later,
            True,
            topics,
            coordinator_epoch,
            transaction_version if version >= 2 else 0,
        )
        [answered] = self.side.ask(WriteTxnMarkersRequest([marker]), version)["markers"]
        return {
            topic["name"].startswith("__"): [one["errorCode"] for one in topic["partitions"]]
            for topic in answered["topics"]
        }

    def describe(self) -> Any:
        """DescribeTransactions, after a transaction that is ending has ended."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            state = self.side.ask(DescribeTransactionsRequest([self.name]), 0)["transactionStates"][0]
            if not state["transactionState"].startswith("Prepare") or time.monotonic() > deadline:
                break
        state["producerId"] = "none" if state["errorCode"] else self._id(state["producerId"])
        state["transactionStartTimeMs"] = state["transactionStartTimeMs"] > 0
        state["topics"] = sorted((topic["topic"], sorted(topic["partitions"])) for topic in state["topics"])
        return state

    def wait_until_it_is_aborted(self) -> Any:
        """Waits until the coordinator has aborted the transaction by its timeout. Returns the state."""
        deadline = time.monotonic() + DEADLINE_S
        while (state := self.describe())["transactionState"] == "Ongoing":
            assert time.monotonic() < deadline
        return state

    def _log(self, index: int) -> Any:
        """A partition as a read_committed consumer sees it: end offsets, batches, aborted transactions."""
        batches: list[tuple[int, bool, int]] = []
        aborted: set[tuple[str, int]] = set()
        offset = 0
        while True:
            wanted = self.side.wanted(self.topic, offset, partition=index)
            response: Any = self.side.raw(fetch_request([wanted], isolation_level=1), 11)
            fetched = response.responses[0].partitions[0]
            aborted |= {(self._id(one.producer_id), one.first_offset) for one in fetched.aborted_transactions or ()}
            headers = [header for _, header in iterate_headers(bytes(fetched.records or b""))]
            batches += [(one.base_offset, one.is_control, one.producer_epoch) for one in headers]
            if not headers:
                return fetched.high_watermark, fetched.last_stable_offset, batches, sorted(aborted)
            offset = headers[-1].next_offset

    def seen(self) -> Any:
        """The final state: the transaction, the logs as read_committed consumers see them, and the committed offset."""
        state = self.describe()
        logs = [self._log(index) for index in self.indexes]
        topic = DescribeProducersRequest.TopicRequest(self.topic, list(self.indexes))
        producers = [
            [
                (
                    self._id(one["producerId"]),
                    one["producerEpoch"],
                    one["lastSequence"],
                    one["coordinatorEpoch"],
                    one["currentTxnStartOffset"],
                )
                for one in partition["activeProducers"]
            ]
            for partition in self.side.ask(DescribeProducersRequest([topic]), 0)["topics"][0]["partitions"]
        ]
        group = OffsetFetchRequest(self.group, None, require_stable=False)
        committed = [
            (one["partitionIndex"], one["committedOffset"])
            for topic_offsets in self.side.ask(group, 7)["topics"]
            for one in topic_offsets["partitions"]
        ]
        return [state, logs, producers, committed]


def _errors(body: Any) -> set[int]:
    """Every error code in an answer."""
    if isinstance(body, dict):
        found = {int(value) for key, value in body.items() if key in ("errorCode", "partitionErrorCode")}
        return found.union(*(_errors(value) for value in body.values()))
    return set().union(*map(_errors, body)) if isinstance(body, list) else set()
