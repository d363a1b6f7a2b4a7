"""A fetch plan leaves a partition out of one request after each pause, however short."""

import asyncio
from pathlib import Path

from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.replication.copy import Copy
from odradek.broker.replicas.replication.fetch_plan import FetchPlan
from odradek.broker.replicas.replication.fetch_session import SessionRequest
from odradek.broker.replicas.replication.follower import FollowedPartition
from odradek.broker.replicas.replication_throttle import FOLLOWER_KEYS, ReplicationQuota, ReplicationThrottle
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.messages.fetch import FetchResponse
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

NOW_MS = 1_700_000_000_000
TOPIC = bytes(15) + b"\x07"


def indexes(request: SessionRequest | None) -> tuple[list[int], list[int]]:
    """The partitions that a request names, and those that it forgets."""
    assert request is not None
    named = [one.partition for topic in request.topics for one in topic.partitions]
    return named, [index for topic in request.forgotten for index in topic.partitions]


def answer(*indexes: int) -> FetchResponse:
    partitions = [FetchResponse.PartitionData(index) for index in indexes]
    return FetchResponse(session_id=7, responses=[FetchResponse.FetchableTopicResponse("", TOPIC, partitions)])


async def test_partition_leaves_the_session_for_a_pause_that_is_over_before_the_next_request(tmp_path: Path) -> None:
    """Otherwise a leader without news would not answer it again: what its last answer required would stay undone."""
    plan = FetchPlan(ReplicationThrottle(1, MetadataImage, ReplicationQuota(11, 1_000), FOLLOWER_KEYS))
    commit = GroupCommit([], LoopTimers(asyncio.get_running_loop()), lambda: NOW_MS)
    logs = [Log.open(tmp_path / f"t-{index}", LogConfig(), now_ms=NOW_MS) for index in range(2)]
    copies = [
        Copy("t", FollowedPartition(TOPIC, index, 3, 1), log, commit, lambda size: None)
        for index, log in enumerate(logs)
    ]
    for copy in copies:
        plan.follow(copy)
    assert indexes(plan.request_of_all(1_000)) == ([0, 1], [])
    plan.session.handle_response(answer(0, 1))

    assert plan.answered(TOPIC, 0)
    copies[0].partition.pause(1_010, 1)
    plan.look_whether_held_up(copies[0], 1_020)
    assert plan.answered(TOPIC, 1)
    plan.look_whether_held_up(copies[1], 1_020)

    assert plan.looks_at_all(1_020)
    assert plan.first_pause_ms(1_020, 500) == 1
    assert indexes(plan.request_of_all(1_020)) == ([], [0])
    plan.session.handle_response(answer())
    assert plan.looks_at_all(1_021)
    assert indexes(plan.request_of_all(1_021)) == ([0], [])
    plan.session.handle_response(answer(0))
    plan.look_whether_held_up(copies[0], 1_022)
    assert not plan.looks_at_all(1_022)
    for log in logs:
        log.close()
