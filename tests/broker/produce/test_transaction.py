"""The partitions of a Produce request that are added to its transaction."""

from typing import cast

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.produce.acceptance import AcceptedBatch
from odradek.broker.produce.answer import PartitionProduceResponse
from odradek.broker.produce.transaction import Joining
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.partition import Partition
from odradek.broker.replicas.writer_threads import WriterThreads
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import read_header
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import Log


def no_log() -> Log:
    raise AssertionError("a partition that is not served opens no log")


def test_partition_that_is_not_served_joins_no_transaction() -> None:
    """The append refuses it, and the other partitions are served."""
    unused = cast("GroupCommit", None)
    partition = Partition("t", bytes(16), 0, 1, no_log, unused, cast("WriterThreads", None))
    partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    context = RequestContext(ApiKey.PRODUCE, 10, "client", "127.0.0.1", "PLAINTEXT", 0, 1)
    value = Record(0, 1, None, b"value", [])
    records = encode_batch([value], is_transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
    batch: AcceptedBatch = (partition, read_header(records), records, PartitionProduceResponse())
    joining = Joining("x", [batch], context, verifies=True)
    assert not joining.missing
    assert not joining.refusals
