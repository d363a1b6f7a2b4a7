"""Writes a partition batch by batch, one record each, in transactions or not, with the markers that a test asks for."""

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import AppendOrigin
from support.data.log_histories import HistoryWriter


class TransactionWriter(HistoryWriter):
    """Writes batches of one record, in transactions or not, and markers."""

    def data(self, producer_id: int = -1) -> None:
        is_transactional = producer_id >= 0
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + 1
        batch = encode_batch(
            [Record(0, self.now_ms, b"k", b"v", [])],
            producer_id=producer_id,
            producer_epoch=0 if is_transactional else -1,
            base_sequence=sequence if is_transactional else -1,
            is_transactional=is_transactional,
        )
        self.log.appender.append_as_leader(batch, 0, self.now_ms, origin=AppendOrigin.COORDINATOR)

    def end(self, producer_id: int, kind: ControlRecordType) -> None:
        marker = EndTransactionMarker(kind, 1)
        batch = encode_end_transaction_batch(marker, timestamp=self.now_ms, producer_id=producer_id, producer_epoch=0)
        self.log.appender.append_as_leader(batch, 0, self.now_ms, origin=AppendOrigin.COORDINATOR)
