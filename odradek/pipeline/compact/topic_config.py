"""Makes the LogConfig of a topic to compact from Kafka's topic and broker configs.

Pure. `--config` takes precedence over topic configs of the metadata log, and these over broker configs. Configs that
are only in a broker's properties file are not in the directory and must be given with `--config`. Source: LogConfig,
and the synonyms of Kafka's ServerTopicConfigSynonyms.
"""

from collections.abc import Mapping
from dataclasses import fields, replace

from odradek.storage.log.log_config import LogConfig

COMPACTION_KEYS = {
    "cleanup.policy": "log.cleanup.policy",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "producer.id.expiration.ms": "producer.id.expiration.ms",
    "remote.storage.enable": "",
    "internal.segment.bytes": "",
}
"""The topic configs that a compaction uses, each with the broker config that is its default ("": none)."""


class ConfigValueError(Exception):
    """A config that a compaction does not use, or a value of the wrong type."""


def compaction_config(
    topic_configs: Mapping[str, str], broker_configs: Mapping[str, str], given: Mapping[str, str]
) -> LogConfig:
    """The configuration of a topic. `given`: the configs of `--config`. Raises ConfigValueError."""
    for key in given:
        if key not in COMPACTION_KEYS:
            known = ", ".join(COMPACTION_KEYS)
            raise ConfigValueError(f"'{key}' does not affect compaction; the configs that do are {known}")
    texts = {key: broker_configs[synonym] for key, synonym in COMPACTION_KEYS.items() if synonym in broker_configs}
    texts |= {key: text for key, text in topic_configs.items() if key in COMPACTION_KEYS}
    texts |= given
    if "internal.segment.bytes" in texts:
        texts["segment.bytes"] = texts.pop("internal.segment.bytes")
    if texts.pop("remote.storage.enable", "false").strip().lower() == "true":
        raise ConfigValueError(
            "a topic with remote.storage.enable can't be compacted: Kafka does not compact it either"
        )
    defaults = LogConfig()
    values: dict[str, object] = {}
    types = {item.name: type(getattr(defaults, item.name)) for item in fields(LogConfig) if item.init}
    for key, text in texts.items():
        name = key.replace(".", "_")
        values[name] = _typed(key, text, types[name])
    return replace(defaults, **values)  # type: ignore[arg-type]


def _typed(key: str, text: str, config_type: type) -> object:
    if config_type is frozenset:
        return frozenset(word.strip() for word in text.split(",") if word.strip())
    try:
        return config_type(text)
    except ValueError:
        raise ConfigValueError(f"'{text}' is not a valid value for {key}") from None
