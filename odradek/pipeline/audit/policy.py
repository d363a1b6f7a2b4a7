"""Reads the topic configs that an audit uses. A config that is not in the directory is None or has Kafka's default.

Pure. Only the metadata log counts (topic configs, configs of all brokers). A broker's properties file is not in the
directory, so the audit checks retention only if the metadata log has its config. Source: Kafka's LogConfig,
ServerTopicConfigSynonyms.
"""

from dataclasses import dataclass

from odradek.protocol.names.topics import ALWAYS_COMPACTED

from ..directories.cluster_metadata import DirectoryMetadata

_SYNONYMS = {
    "cleanup.policy": "log.cleanup.policy",
    "index.interval.bytes": "log.index.interval.bytes",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
}


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """The configs of one topic. Sizes are bytes, times ms. -1 means no limit, as in Kafka."""

    is_compacted: bool | None = None
    is_deleted: bool | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    max_compaction_lag_ms: int | None = None
    min_compaction_lag_ms: int = 0
    min_cleanable_dirty_ratio: float = 0.5
    timestamp_after_max_ms: int = 3_600_000
    timestamp_before_max_ms: int | None = None
    index_interval_bytes: int = 4096


def topic_policy(topic: str, metadata: DirectoryMetadata) -> TopicPolicy:
    """The policy of a topic; a value that is not a number is ignored."""
    texts = {key: metadata.broker_configs[name] for key, name in _SYNONYMS.items() if name in metadata.broker_configs}
    texts |= metadata.topic_configs.get(topic, {})
    policy = texts.get("cleanup.policy")
    if policy is None and topic in ALWAYS_COMPACTED:
        policy = "compact"
    elif policy is None and topic in metadata.topics:
        policy = "delete"
    words = None if policy is None else {word.strip() for word in policy.split(",")}
    ratio = _number(texts.get("min.cleanable.dirty.ratio"), 0.5)
    return TopicPolicy(
        None if words is None else "compact" in words,
        None if words is None else "delete" in words,
        _whole(texts.get("retention.ms")),
        _whole(texts.get("retention.bytes")),
        _whole(texts.get("max.compaction.lag.ms")),
        _whole(texts.get("min.compaction.lag.ms")) or 0,
        ratio,
        int(_number(texts.get("message.timestamp.after.max.ms"), 3_600_000)),
        _whole(texts.get("message.timestamp.before.max.ms")),
        _whole(texts.get("index.interval.bytes")) or 4096,
    )


def _number(text: str | None, default: float) -> float:
    try:
        return default if text is None else float(text)
    except ValueError:
        return default


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
