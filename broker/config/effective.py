"""The server keys that change what this broker does: the one place that says so.

Whoever makes a key work adds it here, with one sentence; ``docs/configuration.md`` and the line at start about keys
without effect come from this table, and DescribeConfigs answers the sentence as documentation. A test compares the
table with the keys that the code reads.
"""

EFFECTIVE: dict[str, str] = {
    # the node and its listeners
    "node.id": "The id of this broker; 1 unless set. The same as broker.id.",
    "broker.id": "The same as node.id.",
    "process.roles": "broker,controller (or nothing): this broker keeps the cluster's metadata itself.",
    "listeners": "Where clients connect: NAME://host:port, ... An empty host is every interface, port 0 any free port.",
    "advertised.listeners": "The addresses that clients are told for each listener; what was bound unless set.",
    "listener.security.protocol.map": "The security protocol of each listener name. PLAINTEXT is served.",
    "controller.listener.names": "Listeners that clients are not told of, and where nothing listens.",
    "controller.quorum.voters": "Accepted if it names this node alone: id@host:port.",
    "controller.quorum.bootstrap.servers": "Accepted if it names one address.",
    "inter.broker.listener.name": "The listener that other brokers would use; it must be advertised.",
    # directories
    "log.dir": "The data directory, if log.dirs is not set; ./data unless set.",
    "log.dirs": "The data directories, separated by commas.",
    # the logs of topics that don't say otherwise
    "log.segment.bytes": "A segment is closed and a new one begun at this size.",
    "log.roll.ms": "A segment is closed at this age; log.roll.hours unless set.",
    "log.roll.hours": "A segment is closed at this age.",
    "log.roll.jitter.ms": "The most that is taken off log.roll.ms by chance, so that segments don't close together.",
    "log.roll.jitter.hours": "log.roll.jitter.ms in hours.",
    "log.retention.ms": "Segments older than this are deleted; -1 keeps them; log.retention.minutes unless set.",
    "log.retention.minutes": "log.retention.ms in minutes; log.retention.hours unless set.",
    "log.retention.hours": "log.retention.ms in hours.",
    "log.retention.bytes": "The oldest segments of a partition are deleted beyond this size; -1 keeps them.",
    "log.cleanup.policy": "delete, compact or both.",
    "log.cleaner.delete.retention.ms": "How long compaction keeps a tombstone.",
    "log.cleaner.min.compaction.lag.ms": "How long a record stays uncompacted at least.",
    "log.cleaner.max.compaction.lag.ms": "How long a record may stay uncompacted at most.",
    "log.cleaner.min.cleanable.ratio": "The share of a log that must be uncompacted before it is compacted.",
    "log.index.size.max.bytes": "The largest size of an index file.",
    "log.index.interval.bytes": "An index entry is written after this many bytes.",
    "log.flush.interval.messages": "A log is flushed to disk after this many records.",
    "log.flush.interval.ms": "A log is flushed to disk after this time; log.flush.scheduler.interval.ms unless set.",
    "log.flush.scheduler.interval.ms": "log.flush.interval.ms, if that is not set.",
    "log.segment.delete.delay.ms": "How long a deleted segment's files stay under the suffix .deleted.",
    "log.preallocate": "Whether a new segment's file is given its whole size at once.",
    "log.message.timestamp.type": "CreateTime keeps the producer's time; LogAppendTime is the broker's.",
    "log.message.timestamp.before.max.ms": "How far a record's time may lie before the broker's clock.",
    "log.message.timestamp.after.max.ms": "How far a record's time may lie after the broker's clock.",
    "message.max.bytes": "The largest record batch.",
    "min.insync.replicas": "How many replicas acks=all waits for.",
    "compression.type": "The codec of stored batches; producer keeps the producer's.",
    "compression.gzip.level": "The level of gzip, if compression.type says gzip.",
    "compression.lz4.level": "The level of lz4, if compression.type says lz4.",
    "compression.zstd.level": "The level of zstd, if compression.type says zstd.",
    "unclean.leader.election.enable": "Whether a replica that is not in sync may become leader.",
}
