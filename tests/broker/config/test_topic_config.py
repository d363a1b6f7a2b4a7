"""Topic settings: the config that a log gets from the topic, the server and Kafka's defaults."""

from dataclasses import fields

import pytest

from odradek.broker.config.definition import topic_keys
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.topic_config import log_config_for, validate_topic_configs
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.log.log_config import LogConfig


def test_without_settings_a_log_has_kafkas_defaults() -> None:
    assert log_config_for(ServerConfig.load(), {}) == LogConfig()


def test_the_servers_keys_and_then_the_topics_own_are_taken() -> None:
    server = ServerConfig.load(
        "log.retention.hours=2\nlog.roll.hours=3\nlog.roll.jitter.hours=1\nlog.flush.scheduler.interval.ms=9\n"
        "log.segment.bytes=2000000\nlog.cleanup.policy=compact,delete\nproducer.id.expiration.ms=5\nmessage.max.bytes=77\n"
    )
    config = log_config_for(server, {"segment.bytes": "3000000", "retention.bytes": "8", "preallocate": "TRUE"})
    hour_ms = 3_600_000
    assert (config.retention_ms, config.segment_ms, config.segment_jitter_ms) == (2 * hour_ms, 3 * hour_ms, hour_ms)
    assert (config.flush_ms, config.segment_bytes, config.retention_bytes) == (9, 3_000_000, 8)
    assert config.cleanup_policy == {"compact", "delete"}
    assert (config.producer_id_expiration_ms, config.max_message_bytes, config.preallocate) == (5, 77, True)


def test_a_shorter_unit_wins_over_a_longer_one() -> None:
    server = ServerConfig.load("log.retention.hours=2\nlog.retention.minutes=3\n")
    assert log_config_for(server, {}).retention_ms == 180_000
    assert log_config_for(ServerConfig.load("log.retention.minutes=3\nlog.retention.ms=-7"), {}).retention_ms == -1


def test_the_internal_test_key_makes_small_segments() -> None:
    assert log_config_for(ServerConfig.load(), {"internal.segment.bytes": "100"}).segment_bytes == 100


def test_what_an_older_kafka_has_allowed_still_counts() -> None:
    assert log_config_for(ServerConfig.load(), {"segment.bytes": "4000"}).segment_bytes == 4000
    with pytest.raises(KafkaError):
        validate_topic_configs({"segment.bytes": "4000"}, ServerConfig.load())


def test_every_topic_key_but_those_of_other_features_reaches_the_log() -> None:
    others = {"remote", "local", "leader", "follower", "internal", "errors"}
    wanted = {name.replace(".", "_") for name in topic_keys() if name.partition(".")[0] not in others}
    assert wanted == {field.name for field in fields(LogConfig) if field.init} - {
        "producer_id_expiration_ms",
        "acks_all_fsync",
        "check_records",
    }


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"segment.byte": "1"}, "Unknown topic config name: segment.byte"),
        (
            {"segment.bytes": "1000"},
            "Invalid value 1000 for configuration segment.bytes: Value must be at least 1048576",
        ),
        ({"retention.ms": "7 days"}, "Invalid value 7 days for configuration retention.ms: Not a number of type LONG"),
        (
            {"min.compaction.lag.ms": "5", "max.compaction.lag.ms": "4"},
            "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)",
        ),
    ],
)
def test_bad_settings_are_refused_in_kafkas_words(configs: dict[str, str], said: str) -> None:
    with pytest.raises(KafkaError) as refused:
        validate_topic_configs(configs, ServerConfig.load())
    assert (refused.value.error_code, refused.value.message) == (ErrorCode.INVALID_CONFIG, said)


def test_a_setting_of_null_counts_as_not_set() -> None:
    validate_topic_configs({"segment.bytes": None}, ServerConfig.load())


def test_remote_storage_can_only_go_with_its_data() -> None:
    before = {"remote.storage.enable": "true"}
    server = ServerConfig.load()
    with pytest.raises(KafkaError, match=r"remote\.log\.delete\.on\.disable"):
        validate_topic_configs({}, server, before=before)
    validate_topic_configs({"remote.log.delete.on.disable": "true"}, server, before=before)
