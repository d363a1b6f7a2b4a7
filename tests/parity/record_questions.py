"""Random requests about records: produce, fetch, offsets, deletion, producer ids."""

from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.offsets import DeleteRecordsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import InitProducerIdRequest
from parity.question_draws import BASE_TIME_MS, Draws, Question
from parity.world import Names


class RecordQuestions:
    """Draws requests that read and write records."""

    def __init__(self, draws: Draws) -> None:
        self._draw = draws

    def produce(self) -> Question:
        version = self._draw.version(ProduceRequest)
        acks = self._draw.rng.choice((1, -1, -1, 1, 2))
        # No partition is named twice. Kafka appends one of two batches, but answers for the other if that is refused.
        drawn = [
            (self._draw.topic(), self._draw.partition(), self._draw.records())
            for _ in range(self._draw.rng.choice((1, 1, 2)))
        ]
        wanted = list({(topic, index): (topic, index, records) for topic, index, records in drawn}.values())

        def make(names: Names) -> Message:
            data = [
                ProduceRequest.TopicProduceData(
                    topic, names.topic_id(topic), [ProduceRequest.PartitionProduceData(index, records)]
                )
                for topic, index, records in wanted
            ]
            return ProduceRequest(None, acks, 1000, data)

        return version, make

    def fetch(self) -> Question:
        version = self._draw.version(FetchRequest)
        rng = self._draw.rng
        wanted = [
            (
                self._draw.topic(),
                self._draw.partition(),
                rng.choice((0, 0, 1, 3, 10, 100, -1)),
                rng.choice((1, 100, 100_000)),
                self._draw.epoch(),
            )
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        max_bytes = rng.choice((1, 200, 1 << 20))
        isolation = rng.choice((0, 0, 1))
        epoch = rng.choice((-1, -1, 0))

        def make(names: Names) -> Message:
            topics = [
                FetchRequest.FetchTopic(
                    topic,
                    names.topic_id(topic),
                    [
                        FetchRequest.FetchPartition(
                            partition=index,
                            fetch_offset=offset,
                            partition_max_bytes=size,
                            current_leader_epoch=leader_epoch,
                        )
                    ],
                )
                for topic, index, offset, size, leader_epoch in wanted
            ]
            return FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=max_bytes,
                isolation_level=isolation,
                session_epoch=epoch if version >= 7 else -1,
                topics=topics,
            )

        return version, make

    def list_offsets(self) -> Question:
        version = self._draw.version(ListOffsetsRequest)
        rng = self._draw.rng
        wanted = [
            (
                self._draw.topic(),
                self._draw.partition(),
                self._draw.epoch(),
                rng.choice((-1, -2, -3, -4, -5, -6, 0, BASE_TIME_MS + rng.randrange(1100), BASE_TIME_MS * 2)),
            )
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        isolation = rng.choice((0, 1))

        def make(names: Names) -> Message:
            topics = [
                ListOffsetsRequest.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsRequest.ListOffsetsPartition(
                            partition_index=index,
                            current_leader_epoch=epoch if version >= 4 else -1,
                            timestamp=timestamp,
                        )
                    ],
                )
                for topic, index, epoch, timestamp in wanted
            ]
            return ListOffsetsRequest(replica_id=-1, isolation_level=isolation if version >= 2 else 0, topics=topics)

        return version, make

    def delete_records(self) -> Question:
        version = self._draw.version(DeleteRecordsRequest)
        topic, index, offset = (
            self._draw.topic(),
            self._draw.partition(),
            self._draw.rng.choice((0, 1, 2, 5, -1, -2, 1000)),
        )

        def make(names: Names) -> Message:
            partition = DeleteRecordsRequest.DeleteRecordsPartition(index, offset)
            return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(topic, [partition])], 5000)

        return version, make

    def leader_epochs(self) -> Question:
        version = self._draw.version(OffsetForLeaderEpochRequest)
        topic, index, current, epoch = (
            self._draw.topic(),
            self._draw.partition(),
            self._draw.epoch(),
            self._draw.rng.choice((-1, 0, 0, 1, 5)),
        )

        def make(names: Names) -> Message:
            partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                index, current if version >= 2 else -1, epoch
            )
            return OffsetForLeaderEpochRequest(
                -1 if version >= 3 else -2, [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic, [partition])]
            )

        return version, make

    def init_producer_id(self) -> Question:
        version = self._draw.version(InitProducerIdRequest)
        producer, epoch = self._draw.rng.choice(((-1, -1), (-1, -1), (5, -1), (-1, 3), (5, 3)))
        name = self._draw.rng.choice((None, None, ""))

        def make(names: Names) -> Message:
            if version < 3:
                return InitProducerIdRequest(name, 60_000)
            return InitProducerIdRequest(name, 60_000, producer, epoch)

        return version, make
