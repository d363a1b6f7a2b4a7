"""The partitions of a Produce request that are added to its transaction."""

from typing import cast

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.produce.transaction import Refusals, join
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.partition import Partition
from odradek.broker.replicas.writer_threads import WriterThreads
from odradek.broker.transactions.coordinator import TransactionCoordinator
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.storage.log.log import Log


def no_log() -> Log:
    raise AssertionError("a partition that is not served opens no log")


def test_partition_that_is_not_served_joins_no_transaction() -> None:
    """The append refuses it, and the other partitions are served."""
    unused = cast("GroupCommit", None)
    partition = Partition("t", bytes(16), 0, 1, no_log, unused, cast("WriterThreads", None))
    partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    answers: list[Refusals] = []
    context = RequestContext(ApiKey.PRODUCE, 10, "client", "127.0.0.1", "PLAINTEXT", 0, 1)
    coordinator = cast("TransactionCoordinator", None)  # no request
    join(coordinator, "x", (7, 0), [partition], context, verifies=True, then=answers.append)
    assert answers == [{}]
