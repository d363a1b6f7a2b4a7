"""The answer of a Produce request: it is filled while the batches are appended, and sent once.

Owns: the answers of the partitions. Never does: appending, waiting. Source: ``KafkaApis.handleProduceRequest``
(``sendResponseCallback``), ``ReplicaManager.appendRecordsToLeader`` (which errors name the log start).
"""

from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse
from odradek.storage.errors import RecordValidationError

from ..dispatch.request import ConnectionRefusal, Reply, RequestContext
from ..metadata.image.partition_view import CurrentLeaders
from ..metadata.publisher.published import PublishedMetadata
from ..replicas.partition import Partition

if TYPE_CHECKING:
    from ..metrics.topic_meters import TopicMeters

TopicProduceResponse = ProduceResponse.TopicProduceResponse
PartitionProduceResponse = ProduceResponse.PartitionProduceResponse
UNANSWERED_FAILURE = "a Produce request with acks=0 failed, and such a request gets no answer"
LEADER_SINCE = 10

PLAIN = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INVALID_REQUIRED_ACKS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""Errors of the request, not of a batch. Kafka gives no text for these."""
WITHOUT_LOG_START = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Errors of the log for which Kafka's answer has no log start offset."""


class ProduceAnswer:
    """The answer of one request."""

    __slots__ = ("_context", "_has_failed", "_metadata", "_reply", "_topics", "acks", "meters")

    def __init__(
        self,
        acks: int,
        context: RequestContext,
        reply: Reply[ProduceResponse],
        metadata: PublishedMetadata,
        meters: "TopicMeters | None",
    ) -> None:
        """``meters`` count what is appended and refused; None without metrics."""
        self.acks = acks
        self.meters = meters
        self._context = context
        self._reply = reply
        self._metadata = metadata
        self._topics: dict[tuple[str, bytes], TopicProduceResponse] = {}
        self._has_failed = False

    def of(self, topic: str, topic_id: bytes, index: int) -> PartitionProduceResponse:
        """The answer of one more partition. ``topic``, ``topic_id``: as the request names it."""
        answered = self._topics.get((topic, topic_id))
        if answered is None:
            answered = self._topics[topic, topic_id] = TopicProduceResponse(topic, topic_id)
        answer = PartitionProduceResponse(index, ErrorCode.NONE)
        answered.partition_responses.append(answer)
        return answer

    def fail(self, answer: PartitionProduceResponse, error: KafkaError) -> None:
        """Sets the error of a partition without counting it: the log was not asked, or has appended the batch."""
        self._has_failed = True
        error.with_traceback(None)  # its frames refer to the error, which would be a reference cycle
        _refuse(answer, error)

    def refuse(self, answer: PartitionProduceResponse, topic: str, error: KafkaError) -> None:
        """Sets the error of a partition whose batch was not appended. ``topic``: its name; empty if it is unknown."""
        if self.meters is not None:
            self.meters.refused(topic, error.error_code)
        self.fail(answer, error)

    def refuse_appended(self, answer: PartitionProduceResponse, partition: Partition, error: KafkaError) -> None:
        """Sets the error of a partition whose log has refused a batch."""
        self.refuse(answer, partition.topic, error)
        log = partition.open_log
        if log is not None and error.error_code not in WITHOUT_LOG_START:
            answer.log_start_offset = log.log_start_offset

    def send(self) -> None:
        """Sends the answer. The caller has waited until all batches are as durable as ``acks`` requires."""
        if self.acks != 0:
            response = ProduceResponse(list(self._topics.values()))
            if self._has_failed and self._context.api_version >= LEADER_SINCE:
                self._name_leaders(response)
            self._reply(response)
        elif self._has_failed:
            self._reply.refuse(UNANSWERED_FAILURE)
        else:
            self._reply(None)

    def send_error(self, request: ProduceRequest, error: KafkaError) -> None:
        """Answers every partition of the request with one error. Raises ConnectionRefusal for acks=0."""
        if self.acks == 0:
            raise ConnectionRefusal(UNANSWERED_FAILURE)
        answers: dict[tuple[str, bytes], dict[int, PartitionProduceResponse]] = {}
        for topic in request.topic_data:
            answered = answers.setdefault((topic.name, topic.topic_id), {})
            for data in topic.partition_data:
                _refuse(answered.setdefault(data.index, PartitionProduceResponse(data.index)), error)
        self._reply(
            ProduceResponse(
                [
                    TopicProduceResponse(name, topic_id, list(partitions.values()))
                    for (name, topic_id), partitions in answers.items()
                ]
            )
        )

    def _name_leaders(self, response: ProduceResponse) -> None:
        """Adds the current leader and its endpoint for partitions that another broker leads (KIP-951)."""
        image = self._metadata.image
        leaders = CurrentLeaders(image, self._context.listener_name)
        for topic in response.responses:
            found = image.topics_by_id.get(topic.topic_id)
            for answer in topic.partition_responses:
                if answer.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    continue
                partition = leaders.find(topic.name or (found.name if found else ""), answer.index)
                if partition is not None:
                    answer.current_leader = ProduceResponse.LeaderIdAndEpoch(partition.leader, partition.leader_epoch)
        response.node_endpoints = [
            ProduceResponse.NodeEndpoint(leader, at.host, at.port) for leader, at in leaders.endpoints.items()
        ]


def _refuse(answer: PartitionProduceResponse, error: KafkaError) -> None:
    """Makes the answer an error, with the refused records of the batch if the error has them (KIP-467)."""
    answer.error_code = error.error_code
    answer.base_offset = -1
    answer.error_message = None if error.error_code in PLAIN else str(error)
    if isinstance(error, RecordValidationError):
        answer.record_errors = [
            ProduceResponse.BatchIndexAndErrorMessage(index, message) for index, message in error.record_errors
        ]
