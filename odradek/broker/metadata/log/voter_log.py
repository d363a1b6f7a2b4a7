"""The metadata log of a broker that is its own controller: the only voter, and so always the leader.

Owns: the leader epoch. Never does: deciding the content of records. Invariant: records are on disk, and so committed,
when :meth:`VoterLog.append` returns. Source: KafkaRaftClient as a leader without followers.
"""

from collections.abc import Sequence

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import BatchBuilder

from ..image.features import record_version
from .format import QUORUM_STATE, QuorumState, leader_change_batch
from .metadata_log import MAX_BATCH_BYTES, MetadataLog

RECORDS_A_STEP = 32
"""The number of records encoded in one step: 10 us each."""


class VoterLog(MetadataLog):
    """The metadata log of a single voter. Get it with ``VoterLog.open``."""

    def become_leader(self, node_id: int, now_ms: int) -> None:
        """Starts the next epoch. It is stored first, so that no epoch is used twice, and then written to the log."""
        epoch = max(self._state.leader_epoch, self._log.offsets.latest_epoch, self._last_epoch, 0) + 1
        self._state = QuorumState(node_id, epoch, data_version=min(self.kraft_version, 1))
        self._files.write_file(self._log.directory / QUORUM_STATE, self._state.to_json())
        batch = leader_change_batch(node_id, epoch, self._log.log_end_offset, now_ms)
        self._log.appender.append_as_follower(batch, now_ms)
        self._log.flusher.flush()

    def append(self, records: Sequence[Message], metadata_version: int, now_ms: int) -> Steps[int]:
        """Appends records in one batch (or several, if one can't hold them), and flushes. Returns the first offset.

        Only the last step writes; the others encode, so other appends may come between. Raises KafkaError for a disk
        error: then none of the records is in the log.
        """
        builders = yield from self._builders(records, metadata_version, now_ms)
        first_offset = self._log.log_end_offset
        size = 0
        try:
            for builder in builders:
                builder.move_to(self._log.log_end_offset)
                batch = builder.build()
                self._log.appender.append_as_follower(batch, now_ms)
                size += len(batch)
        except KafkaError:
            if size:
                self._log.removal.truncate_to(first_offset)
            raise
        self._log.flusher.flush()
        self.bytes_since_snapshot += size
        return first_offset

    def _builders(self, records: Sequence[Message], metadata_version: int, now_ms: int) -> Steps[list[BatchBuilder]]:
        """The encoded records in as few batches as possible. They get their offsets at the append."""
        builders = [BatchBuilder(partition_leader_epoch=self._state.leader_epoch)]
        for count, record in enumerate(records, 1):
            value = encode_record(record, record_version(record, metadata_version))
            # A record adds less than 64 bytes to its value.
            if builders[-1].records_count and builders[-1].size_in_bytes + len(value) + 64 > MAX_BATCH_BYTES:
                builders.append(BatchBuilder(partition_leader_epoch=self._state.leader_epoch))
            builders[-1].append(now_ms, None, value)
            if not count % RECORDS_A_STEP:
                yield
        return builders
