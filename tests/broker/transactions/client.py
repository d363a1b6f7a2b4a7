"""A transactional producer in the tests of the transaction coordinator, and its records in the logs."""

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import groups, transactions
from odradek.protocol.names.transaction_states import TransactionState
from odradek.protocol.records.builder import BatchBuilder
from support.transactions.harness import TransactionHarness

TIMEOUT_MS = 60_000
Result = tuple[ErrorCode, int, int]


class TransactionClient:
    """One producer, step by step. ``version``: its version of the transaction protocol."""

    def __init__(self, harness: TransactionHarness, name: str = "tx", version: int = 1) -> None:
        self.harness = harness
        self.name = name
        self.version = version
        self.producer_id = self.producer_epoch = -1

    def init(self, timeout_ms: int = TIMEOUT_MS, api_version: int = 5, *, anew: bool = True) -> Result:
        """InitProducerId. Returns (error code, producer id, epoch)."""
        known = (-1, -1) if anew else (self.producer_id, self.producer_epoch)
        request = transactions.InitProducerIdRequest(self.name, timeout_ms, *known)
        answer = self.harness.ask(ApiKey.INIT_PRODUCER_ID, api_version, request)
        if not answer.error_code:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return ErrorCode(answer.error_code), answer.producer_id, answer.producer_epoch

    def add(self, *indexes: int, api_version: int = 3) -> list[ErrorCode]:
        """AddPartitionsToTxn for partitions of topic t. Returns the error code of each."""
        topic = transactions.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("t", list(indexes))
        request = transactions.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[topic],
        )
        answer = self.harness.ask(ApiKey.ADD_PARTITIONS_TO_TXN, api_version, request)
        return [
            ErrorCode(result.partition_error_code)
            for topic_result in answer.results_by_topic_v3_and_below
            for result in topic_result.results_by_partition
        ]

    def end(self, *, commit: bool, api_version: int | None = None) -> ErrorCode:
        """EndTxn. Returns the error code."""
        request = transactions.EndTxnRequest(self.name, self.producer_id, self.producer_epoch, commit)
        answer = self.harness.ask(ApiKey.END_TXN, api_version or (5 if self.version == 2 else 4), request)
        if not answer.error_code and self.version == 2:
            self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return ErrorCode(answer.error_code)

    def add_offsets(self, group: str = "g") -> ErrorCode:
        """AddOffsetsToTxn. Returns the error code."""
        request = transactions.AddOffsetsToTxnRequest(self.name, self.producer_id, self.producer_epoch, group)
        return ErrorCode(self.harness.ask(ApiKey.ADD_OFFSETS_TO_TXN, 4, request).error_code)

    def commit_offset(self, offset: int, group: str = "g", api_version: int = 3) -> ErrorCode:
        """TxnOffsetCommit for partition 0 of topic t. Returns the error code."""
        partition = transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, offset)
        topic = transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic("t", partitions=[partition])
        request = transactions.TxnOffsetCommitRequest(
            self.name, group, self.producer_id, self.producer_epoch, topics=[topic]
        )
        answer = self.harness.ask(ApiKey.TXN_OFFSET_COMMIT, api_version, request)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def write(self, index: int, value: bytes, sequence: int = 0) -> None:
        """Appends a batch with one record to a partition of topic t."""
        builder = BatchBuilder(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        builder.append(self.harness.timers.now_ms, None, value)
        self.harness.partitions["t", index].append(builder.build(), self.harness.timers.now_ms, from_client=True)

    def state(self) -> TransactionState:
        """The state of the transaction in the coordinator."""
        state: TransactionState = self.harness.core.transactions[self.name].state
        return state


def committed_offset(harness: TransactionHarness, group: str = "g", *, stable: bool = False) -> tuple[int, ErrorCode]:
    """The group's committed offset of partition 0 of topic t, with the error code."""
    topic = groups.OffsetFetchRequest.OffsetFetchRequestTopics("t", partition_indexes=[0])
    request = groups.OffsetFetchRequest(
        groups=[groups.OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=[topic])], require_stable=stable
    )
    answer = harness.ask(ApiKey.OFFSET_FETCH, 9, request)
    partition = answer.groups[0].topics[0].partitions[0]
    return partition.committed_offset, ErrorCode(partition.error_code)


def markers(harness: TransactionHarness, topic: str, index: int) -> list[tuple[int, int]]:
    """(producer id, epoch) of the control batches of a partition."""
    return [
        (header.producer_id, header.producer_epoch)
        for header in harness.partitions[topic, index].headers()
        if header.is_control
    ]
