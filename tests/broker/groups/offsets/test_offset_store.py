"""Offsets of transactions are pending until the marker. The later of two commits stays."""

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.offsets.fetch import TopicFetch, fetch_offsets
from odradek.broker.groups.offsets.store import offset_commit_record, offset_tombstone
from odradek.broker.groups.records import CoordinatorRecord
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import OffsetCommitValue
from support.groups.harness import hard_state

PRODUCER = 7
NO_PRODUCER = -1


def _commit(offset: int) -> CoordinatorRecord:
    return offset_commit_record("g", "t", 0, OffsetCommitValue(offset=offset, metadata="", commit_timestamp=1))


def _fetched(core: GroupCore, require_stable: bool) -> tuple[int, int]:
    [topic] = run_to_end(fetch_offsets(core, "g", [TopicFetch("t", bytes(16), [0])], require_stable))
    return topic.partitions[0].committed_offset, topic.partitions[0].error_code


def _core(*records: tuple[CoordinatorRecord, int]) -> GroupCore:
    core = GroupCore(GroupCoordinatorConfig(), lambda: "uuid")
    for offset, (record, producer_id) in enumerate(records):
        core.replay(record, offset, producer_id, 0)
    return core


def test_pending_offsets_are_seen_by_nobody_and_make_stable_readers_wait() -> None:
    core = _core((_commit(1), NO_PRODUCER), (_commit(2), PRODUCER))
    assert _fetched(core, require_stable=False) == (1, ErrorCode.NONE)
    assert _fetched(core, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    core.replay_end_transaction(PRODUCER, committed=True)
    assert _fetched(core, require_stable=True) == (2, ErrorCode.NONE)


def test_aborted_offsets_never_were() -> None:
    core = _core((_commit(1), NO_PRODUCER), (_commit(2), PRODUCER))
    core.replay_end_transaction(PRODUCER, committed=False)
    assert _fetched(core, require_stable=True) == (1, ErrorCode.NONE)
    assert hard_state(core)["offsets"]["pending"] == {}


def test_the_later_record_stays_whenever_the_marker_comes() -> None:
    core = _core((_commit(1), PRODUCER), (_commit(2), NO_PRODUCER))
    core.replay_end_transaction(PRODUCER, committed=True)
    assert _fetched(core, require_stable=True) == (2, ErrorCode.NONE)


def test_a_tombstone_forgets_pending_offsets_too() -> None:
    core = _core((_commit(1), PRODUCER), (offset_tombstone("g", "t", 0), NO_PRODUCER))
    core.replay_end_transaction(PRODUCER, committed=True)
    assert _fetched(core, require_stable=True) == (-1, ErrorCode.NONE)


def test_deleted_topics_and_groups_lose_pending_offsets_too() -> None:
    core = _core((_commit(1), PRODUCER))
    [tombstones] = core.offsets.tombstones_of_topics({"t", "other"})
    assert [record.key for record in tombstones] == [_commit(1).key]
    assert [record.key for record in core.offsets.tombstones_of_group("g", 10)] == [_commit(1).key]
    assert core.offsets.has_open_transactions("g")


def test_an_offset_of_a_topic_that_was_created_anew_is_none() -> None:
    record = offset_commit_record(
        "g", "t", 0, OffsetCommitValue(offset=5, metadata="", commit_timestamp=1, topic_id=b"a" * 16)
    )
    core = _core((record, NO_PRODUCER))
    for topic_id, expected in ((b"a" * 16, 5), (b"b" * 16, -1), (bytes(16), 5)):
        [topic] = run_to_end(fetch_offsets(core, "g", [TopicFetch("t", topic_id, [0])], False))
        assert topic.partitions[0].committed_offset == expected
