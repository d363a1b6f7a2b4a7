"""Records the sums of a segment while the checks read it.

Pure. The checks fill the parts that they need later; the rest is the difference that the segment makes to the report.
"""

import xxhash

from ..decode.checked_headers import CheckedHeaders
from ..decode.damage import Damage
from ..directories.segment_files import SegmentFile
from .replica_points import PointsRecording
from .sums import BatchSums, HeardFinding, ProducerSpan, RecordSums, SegmentSums, TransactionSums
from .tasks import PartitionReport


class SegmentDigest:
    """The digest of a segment's batches and damage. It does not depend on the pieces in which the file was read."""

    __slots__ = ("_headers", "_places", "_results")

    def __init__(self) -> None:
        self._headers, self._places, self._results = (xxhash.xxh3_128() for _ in range(3))

    def read(self, item: CheckedHeaders | Damage) -> None:
        """Adds batches or damage."""
        if isinstance(item, Damage):
            self._add_damage(item)
            return
        self._headers.update(item.headers.table.tobytes())
        self._places.update(item.headers.places.tobytes())
        self._results.update(item.matches.tobytes())

    def _add_damage(self, damage: Damage) -> None:
        self._places.update(f"{damage.kind} {damage.position} {damage.size}".encode())

    def text(self) -> str:
        """The digest, as hex digits."""
        parts = (self._headers.digest(), self._places.digest(), self._results.digest())
        return xxhash.xxh3_128_hexdigest(b"".join(parts))


class SegmentRecording:
    """The sums of a segment that is being read."""

    def __init__(self, report: PartitionReport) -> None:
        """Begins the segment: the report hears its findings from here on."""
        self._report = report
        self._before = _numbers(report)
        self._heard: list[HeardFinding] = []
        report.heard = self._heard
        self.digest = SegmentDigest()
        self.points = PointsRecording()
        self.batches = BatchSums(log_start=report.log_start_offset)
        self.transactions = TransactionSums()
        self.producers: dict[int, ProducerSpan] = {}

    def read(self, item: CheckedHeaders | Damage) -> None:
        """Adds batches or damage."""
        self.digest.read(item)
        if isinstance(item, Damage):
            self.points.damaged()
        else:
            self.points.read(item.headers)

    def end(self, segment: SegmentFile, times: tuple[int, int], records: RecordSums | None) -> SegmentSums:
        """Ends the segment. `times`: the timestamp of its first batch, and the largest one."""
        self._report.heard = None
        changes = [after - before for before, after in zip(self._before, _numbers(self._report), strict=True)]
        batches = self.batches
        batches.batches, batches.records, batches.deleted_records, batches.control_batches, grown = changes
        batches.lost_bytes = -grown
        return SegmentSums(
            segment.base_offset,
            segment.size,
            {},
            self.digest.text(),
            *times,
            self._heard,
            batches,
            self.transactions,
            list(self.producers.values()),
            records,
            self.points.end(),
        )


def _numbers(report: PartitionReport) -> tuple[int, ...]:
    return report.batches, report.records, report.deleted_records, report.control_batches, report.size
