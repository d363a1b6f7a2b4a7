"""An audit of both replicas finds that one was away while the leader's cleaner removed a tombstone or a marker.

Cleaners don't wait for followers. A follower never gets records that were removed before it returned: it keeps a
deleted key, treats an aborted transaction as committed by its producer's next marker, or keeps one open for ever.
Both logs are written through the project's own log, and the leader's is cleaned by the project's own rules.
"""

from pathlib import Path

from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.compact.command import compact
from odradek.pipeline.engine.engines import LOCAL
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.files import Files
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HISTORY_START_MS
from support.disks.unsynced_files import UnsyncedFiles

DAY_MS = 86_400_000
PRODUCER = 77


class Replica:
    """One replica of t-0, in a log directory of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now_ms = HISTORY_START_MS
        root.mkdir()
        (root / "meta.properties").write_text("version=1\n")
        self.open()

    def open(self) -> None:
        descriptors = DescriptorCache(UnsyncedFiles())
        self.log = Log.open(self.root / "t-0", LogConfig(), now_ms=self.now_ms, descriptors=descriptors)

    def put(self, key: bytes, value: bytes | None, *, producer_id: int = -1, sequence: int = 0) -> None:
        """Appends a record, in a transaction if a producer is given."""
        is_plain = producer_id < 0
        batch = encode_batch(
            [Record(0, self.now_ms, key, value, [])],
            producer_id=producer_id,
            producer_epoch=-1 if is_plain else 0,
            base_sequence=-1 if is_plain else sequence,
            is_transactional=not is_plain,
        )
        self.log.appender.append_as_leader(batch, 0, self.now_ms, origin=AppendOrigin.COORDINATOR)

    def end(self, kind: ControlRecordType) -> None:
        """Ends the producer's transaction."""
        marker = encode_end_transaction_batch(
            EndTransactionMarker(kind, 1), timestamp=self.now_ms, producer_id=PRODUCER, producer_epoch=0
        )
        self.log.appender.append_as_leader(marker, 0, self.now_ms, origin=AppendOrigin.COORDINATOR)

    def fetch_from(self, leader: "Replica") -> None:
        """Takes every batch that the leader has from this log's end on."""
        for path in sorted((leader.root / "t-0").glob("*.log")):
            data = path.read_bytes()
            for place, header in iterate_headers(data):
                if header.base_offset >= self.log.log_end_offset:
                    self.log.appender.append_as_follower(data[place : place + header.size_in_bytes], leader.now_ms)

    def clean(self) -> None:
        """Runs the cleaner over several days, until tombstones and markers are removed, too."""
        self.log.roll(self.now_ms)
        self.close()
        for _ in range(4):
            self.now_ms += 2 * DAY_MS
            words = ["--topic", "t", "--config", "cleanup.policy=compact", "--now", str(self.now_ms)]
            assert compact([str(self.root), *words]) == 0
        self.open()

    def close(self) -> None:
        write_offset_checkpoint(
            Files(), self.root / "replication-offset-checkpoint", {("t", 0): self.log.log_end_offset}
        )
        self.log.close()


def replicas(tmp_path: Path) -> tuple[Replica, Replica]:
    return Replica(tmp_path / "leader"), Replica(tmp_path / "follower")


def audited(leader: Replica, follower: Replica) -> list[Finding]:
    for replica in (leader, follower):
        replica.log.roll(replica.now_ms)
        replica.close()
    result = audit_directories([leader.root, follower.root], LOCAL, now_ms=leader.now_ms)
    assert [report.log_end_offset for report in result.partitions] == [leader.log.log_end_offset] * 2
    return result.findings


def offsets_in(replica: Replica) -> list[int]:
    return [
        header.base_offset
        for path in sorted((replica.root / "t-0").glob("*.log"))
        for _, header in iterate_headers(path.read_bytes())
    ]


def test_a_key_whose_tombstone_a_replica_never_saw(tmp_path: Path) -> None:
    leader, follower = replicas(tmp_path)
    leader.put(b"deleted", b"1")
    follower.fetch_from(leader)
    leader.put(b"deleted", None)
    leader.put(b"other", b"1")
    leader.clean()
    leader.put(b"later", b"1")
    follower.fetch_from(leader)
    assert not {0, 1} & set(offsets_in(leader)), "record and tombstone are gone"
    assert offsets_in(follower)[0] == 0
    [found] = [found for found in audited(leader, follower) if found.name == "replica-keys-missing"]
    assert (found.file, found.offset) == (str(leader.root / "t-0"), 0)
    assert "1 records of" in found.detail


def test_a_transaction_whose_abort_a_replica_never_saw(tmp_path: Path) -> None:
    leader, follower = replicas(tmp_path)
    leader.put(b"aborted", b"1", producer_id=PRODUCER)
    follower.fetch_from(leader)
    leader.end(ControlRecordType.ABORT)
    leader.put(b"other", b"1")
    leader.clean()
    leader.put(b"committed", b"1", producer_id=PRODUCER, sequence=1)
    leader.end(ControlRecordType.COMMIT)
    follower.fetch_from(leader)
    assert not {0, 1} & set(offsets_in(leader)), "data and marker are gone"
    assert not follower.log.aborted_transactions(0, follower.log.log_end_offset), "to the follower it is committed"
    [found] = [found for found in audited(leader, follower) if found.name == "replica-keys-missing"]
    assert (found.file, found.offset) == (str(leader.root / "t-0"), 0)


def test_a_transaction_that_stays_open_on_one_replica(tmp_path: Path) -> None:
    leader, follower = replicas(tmp_path)
    leader.put(b"key", b"1", producer_id=PRODUCER)
    follower.fetch_from(leader)
    leader.end(ControlRecordType.COMMIT)
    leader.put(b"key", b"2")
    leader.clean()
    leader.put(b"later", b"1")
    follower.fetch_from(leader)
    assert not {0, 1} & set(offsets_in(leader)), "data and marker are gone"
    found = [found for found in audited(leader, follower) if found.name == "transaction-hanging"]
    assert [(one.offset, str(follower.root) in one.file) for one in found] == [(0, True)]
