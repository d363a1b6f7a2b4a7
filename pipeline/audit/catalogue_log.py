"""What an audit can find in logs, indexes, checkpoints and metadata: severity, meaning, what to do.

Source: what Kafka's DumpLogSegments, LogLoader and LogCleaner check or assume.
"""

from .check import Check, Severity

_RESTORE = (
    "Take this replica away and let the broker fetch it anew from another one; without a replica, a restart after an "
    "unclean stop cuts the log here: save what follows before that (Spark: format kafkalog)."
)
_REBUILD = "Delete the index file while the broker is stopped: it rebuilds it from the log when it starts."

LOG_CHECKS: dict[str, Check] = {
    "batch-crc-mismatch": Check(
        Severity.ERROR,
        "Bytes of a batch changed after it was written: disk, memory or an editor. Consumers stop here.",
        _RESTORE,
    ),
    "batch-length-invalid": Check(
        Severity.ERROR, "The length of a batch is impossible; nothing behind it can be found by reading on.", _RESTORE
    ),
    "batch-magic-unknown": Check(
        Severity.ERROR,
        "No batch of message format 2 begins where one must: overwritten bytes, or a format from before Kafka 0.11.",
        _RESTORE,
    ),
    "batch-incomplete": Check(
        Severity.ERROR, "The file ends inside a batch, though it is not where a broker was writing.", _RESTORE
    ),
    "batch-header-invalid": Check(
        Severity.ERROR, "The counts or offsets in a batch's header contradict each other.", _RESTORE
    ),
    "records-malformed": Check(
        Severity.ERROR,
        "The CRC is right but the records can't be decoded: a producer or broker wrote them so.",
        _RESTORE,
    ),
    "record-offsets-invalid": Check(
        Severity.ERROR, "Offsets inside a batch don't rise, or lie outside of it.", _RESTORE
    ),
    "log-tail-torn": Check(
        Severity.INFO,
        "The active segment ends inside a batch: a broker was killed, or is writing. It is cut at the next start.",
        "Nothing.",
    ),
    "offsets-not-increasing": Check(
        Severity.ERROR,
        "A batch begins at or before the end of the one in front of it: batches were reordered or written twice.",
        _RESTORE,
    ),
    "offset-gap": Check(
        Severity.WARNING,
        "Offsets are missing in a topic that is not compacted: records were lost, or it was compacted once.",
        "Compare with another replica; find out whether cleanup.policy was compact once.",
    ),
    "segment-overlap": Check(
        Severity.ERROR,
        "A segment holds offsets of the segment behind it: a crash in the middle of a swap, or files copied together.",
        _RESTORE,
    ),
    "leader-epoch-decreasing": Check(
        Severity.ERROR, "A batch has an older leader epoch than the one in front of it.", _RESTORE
    ),
    "leader-epoch-mismatch": Check(
        Severity.WARNING,
        "leader-epoch-checkpoint has another epoch for an offset than the batch there: followers may truncate wrongly.",
        "Delete leader-epoch-checkpoint while the broker is stopped and restart it without .kafka_cleanshutdown.",
    ),
    "offset-index-missing": Check(
        Severity.WARNING, "A segment has no offset index.", "Nothing: the broker rebuilds it when it starts."
    ),
    "offset-index-size": Check(
        Severity.ERROR, "The offset index is no whole number of 8-byte entries: it was cut.", _REBUILD
    ),
    "offset-index-not-increasing": Check(
        Severity.ERROR, "Entries of the offset index don't rise: fetches may miss records.", _REBUILD
    ),
    "offset-index-mismatch": Check(
        Severity.ERROR,
        "An entry of the offset index points elsewhere than at the batch with that last offset.",
        _REBUILD,
    ),
    "offset-index-sparse": Check(
        Severity.INFO,
        "The offset index has fewer entries than index.interval.bytes asks for: older brokers write one an append.",
        "Nothing: reads scan a little more.",
    ),
    "offset-index-truncated": Check(
        Severity.WARNING, "The offset index ends long before the log does: reads of the rest scan the file.", _REBUILD
    ),
    "time-index-missing": Check(
        Severity.WARNING, "A segment has no time index.", "Nothing: the broker rebuilds it when it starts."
    ),
    "time-index-size": Check(
        Severity.ERROR, "The time index is no whole number of 12-byte entries: it was cut.", _REBUILD
    ),
    "time-index-not-increasing": Check(
        Severity.ERROR, "Entries of the time index don't rise: look-ups by time give wrong offsets.", _REBUILD
    ),
    "time-index-mismatch": Check(
        Severity.ERROR, "An entry of the time index has another time than the greatest up to its batch.", _REBUILD
    ),
    "time-index-incomplete": Check(
        Severity.WARNING,
        "The last entry of a closed segment's time index is not its greatest timestamp: retention may be early.",
        _REBUILD,
    ),
    "transaction-index-invalid": Check(
        Severity.ERROR,
        "The transaction index can't be read, or has an entry without an abort marker in the log.",
        _REBUILD,
    ),
    "aborted-transaction-unindexed": Check(
        Severity.ERROR,
        "An aborted transaction has data but no entry in the transaction index: read_committed consumers see the data.",
        _REBUILD,
    ),
    "producer-snapshot-corrupt": Check(
        Severity.WARNING,
        "A producer snapshot can't be read; the broker uses an older one and reads more of the log.",
        "Delete the file.",
    ),
    "checkpoint-beyond-log": Check(
        Severity.ERROR,
        "A checkpoint names an offset behind the log's end: the log lost its tail after the checkpoint was written.",
        "Compare with other replicas; delete the line from the checkpoint while the broker is stopped.",
    ),
    "checkpoint-unreadable": Check(
        Severity.ERROR,
        "A checkpoint file can't be understood; the broker takes its offsets as 0.",
        "Delete the file while the broker is stopped.",
    ),
    "topic-id-mismatch": Check(
        Severity.ERROR,
        "partition.metadata has another topic id than the metadata: the directory is of a deleted topic.",
        "Move the directory away while the broker is stopped.",
    ),
}
"""Every check of a log by the name of its findings."""
