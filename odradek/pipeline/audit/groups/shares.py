"""The rows about share partitions: what each share group has left to do in each partition.

Pure. Source: KIP-932; ``ShareGroupDescribe`` computes the same backlog from a stored count.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.files.meta_properties import uuid_text

from ...tables.group_messages import GroupKind
from .burrow import Status
from .lag import Directories
from .log_times import LookUpResults
from .rows import GroupLag
from .share_facts import ACKNOWLEDGED, ARCHIVED, ARCHIVING, AVAILABLE, DONE, ShareStateFacts, count_in, first_left


@dataclass(slots=True)
class ShareBacklog:
    """One share group's state of one partition. Times are ms since 1970. -1: there is none, or it is not known.

    The counts are those of offsets from `start_offset` on; all below are done. Offsets of transaction markers count
    like records.
    """

    group: str
    topic: str
    """The topic's id if its name is not known."""
    topic_id: str
    partition: int
    start_offset: int
    """-1 without state, or if no member has fetched from the partition yet."""
    log_start_offset: int
    log_end_offset: int
    backlog: int
    """The number of offsets from the start to the log end that are neither acknowledged nor archived."""
    backlog_ms: int
    """The age (ms) that the first of them has at the moment `at`."""
    acknowledged: int
    archived: int
    """Rejected, delivered as often as allowed, or reported as gaps."""
    archiving: int
    """Archived soon: their dead letters are not written yet."""
    delivered: int
    """Delivered and given back: the next delivery is not their first."""
    max_delivery_count: int
    """The highest delivery count of those that are not done."""
    state_epoch: int
    leader_epoch: int
    members: int
    written_at: int
    at: int
    has_state: bool

    def as_lag(self) -> GroupLag:
        """The row of the lag table. The commit is the start offset. Burrow's rules do not rate share groups."""
        status = str(Status.OK if self.has_state else Status.NOTFOUND)
        return GroupLag(
            self.group,
            self.topic,
            self.partition,
            self.start_offset,
            self.log_start_offset,
            self.log_end_offset,
            self.backlog,
            self.backlog_ms,
            status,
            status,
            self.members,
            str(GroupKind.SHARE),
            "",
            self.leader_epoch,
            self.topic_id,
            self.written_at,
            -1,
            self.at,
        )


def topic_of(found: Directories, state: ShareStateFacts) -> str:
    """The name of the state's topic, or its id if no record has the name."""
    return found.topic_names.get(state.key.topic_id) or uuid_text(state.key.topic_id)


def share_rows(found: Directories, results: Mapping[TopicPartition, LookUpResults]) -> list[ShareBacklog]:
    """The rows, by group, topic and partition."""
    rows = [_row(found, state, results) for state in found.share_states]
    return sorted(rows, key=lambda row: (row.group, row.topic, row.partition))


def _row(found: Directories, state: ShareStateFacts, results: Mapping[TopicPartition, LookUpResults]) -> ShareBacklog:
    key = (topic_of(found, state), state.key.partition)
    report, known = found.reports.get(key), results.get(key, LookUpResults())
    group = found.states.get(state.key.group_id)
    start, end = (report.log_start_offset, report.log_end_offset) if report is not None else (-1, -1)
    end = known.end_offsets.get(found.moment_ms, end)
    left = [batch for batch in state.batches if batch.delivery_state not in DONE]
    row = ShareBacklog(
        state.key.group_id,
        key[0],
        uuid_text(state.key.topic_id),
        state.key.partition,
        state.start_offset,
        start,
        end,
        -1,
        -1,
        count_in(state.batches, (ACKNOWLEDGED,)),
        count_in(state.batches, (ARCHIVED,)),
        count_in(state.batches, (ARCHIVING,)),
        count_in((batch for batch in left if batch.delivery_count > 0), (AVAILABLE,)),
        max((batch.delivery_count for batch in left), default=0),
        state.state_epoch,
        state.leader_epoch,
        0 if group is None else group.members,
        state.written_ms if state.is_known else -1,
        found.moment_ms,
        state.is_known,
    )
    if end >= 0 and state.start_offset >= 0:
        first = max(state.start_offset, start)
        row.backlog = max(end - first, 0) - count_in(state.batches, DONE, first, end)
        row.backlog_ms = 0
        if row.backlog:
            written = known.timestamps.get(first_left(state, start), -1)
            row.backlog_ms = max(found.moment_ms - written, 0) if written >= 0 else -1
    return row
