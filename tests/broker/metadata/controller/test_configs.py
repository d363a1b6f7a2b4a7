"""Altering configs: operations and refusals. An error of one resource does not affect others."""

import pytest

from odradek.broker.metadata.controller.configs import alter_configs, incremental_alter_configs, preprocess
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import MetadataImage, ResourceType
from odradek.broker.metadata.publisher.decision import NO_ERROR, ApiError
from odradek.broker.server.forwarded_configs import merge
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from odradek.protocol.messages.metadata_records import ClearElrRecord, ConfigRecord, FeatureLevelRecord
from odradek.protocol.messages.topics import CreateTopicsRequest
from support.brokers.metadata_images import Topic, apply, carry_out, controller, started

Changed = IncrementalAlterConfigsRequest.AlterConfigsResource
Change = IncrementalAlterConfigsRequest.AlterableConfig
Altered = AlterConfigsRequest.AlterConfigsResource
AlteredConfig = AlterConfigsRequest.AlterableConfig
SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def with_topic() -> tuple[Controller, MetadataImage]:
    core = controller()
    image = started(core)
    configs = [CreateTopicsRequest.CreatableTopicConfig("segment.ms", "70000")]
    carry_out(image, create_topics(image, CreateTopicsRequest([Topic("t", 1, 1, configs=configs)]), core))
    return core, image


def change(core: Controller, image: MetadataImage, *resources: Changed) -> list[tuple[int, str | None]]:
    response = carry_out(image, incremental_alter_configs(image, IncrementalAlterConfigsRequest(list(resources)), core))
    return [(one.error_code, one.error_message) for one in response.responses]


def test_set_and_delete() -> None:
    core, image = with_topic()
    changes = [Change("segment.ms", DELETE, None), Change("retention.ms", SET, "5")]
    assert change(core, image, Changed(TOPIC, "t", changes)) == [(0, None)]
    assert image.config_of(TOPIC, "t") == {"retention.ms": "5"}


def test_append_and_subtract_start_from_the_default() -> None:
    core, image = with_topic()
    assert change(core, image, Changed(TOPIC, "t", [Change("cleanup.policy", APPEND, "compact,delete")])) == [(0, None)]
    assert image.config_of(TOPIC, "t")["cleanup.policy"] == "delete,compact"
    assert change(core, image, Changed(TOPIC, "t", [Change("cleanup.policy", SUBTRACT, "delete")])) == [(0, None)]
    assert image.config_of(TOPIC, "t")["cleanup.policy"] == "compact"


def test_unchanged_value_writes_no_record_but_for_brokers() -> None:
    core, image = with_topic()
    request = IncrementalAlterConfigsRequest([Changed(TOPIC, "t", [Change("segment.ms", SET, "70000")])])
    assert run_to_end(incremental_alter_configs(image, request, core)).records == []
    resource = Changed(BROKER, "1", [Change("log.cleaner.threads", SET, "2")])
    assert change(core, image, resource) == [(0, None)]
    again = run_to_end(incremental_alter_configs(image, IncrementalAlterConfigsRequest([resource]), core))
    assert again.records == [ConfigRecord(BROKER, "1", "log.cleaner.threads", "2")]


def test_validate_only_writes_nothing() -> None:
    core, image = with_topic()
    request = IncrementalAlterConfigsRequest([Changed(TOPIC, "t", [Change("retention.ms", SET, "5")])], True)
    decision = run_to_end(incremental_alter_configs(image, request, core))
    assert [one.error_code for one in decision.response.responses] == [0]
    assert not decision.records


def test_one_bad_key_spoils_its_resource_and_no_other() -> None:
    core, image = with_topic()
    bad = Changed(TOPIC, "t", [Change("retention.ms", SET, "5"), Change("no.such.key", SET, "5")])
    good = Changed(GROUP, "g", [Change("consumer.session.timeout.ms", SET, "50000")])
    assert change(core, image, bad, good) == [
        (ErrorCode.INVALID_CONFIG, "Unknown topic config name: no.such.key"),
        (0, None),
    ]
    assert "retention.ms" not in image.config_of(TOPIC, "t")
    assert image.config_of(GROUP, "g") == {"consumer.session.timeout.ms": "50000"}


REFUSED = [
    (
        Changed(TOPIC, "nowhere", [Change("segment.ms", SET, "60000")]),
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "The topic 'nowhere' does not exist.",
    ),
    (
        Changed(TOPIC, "", [Change("segment.ms", SET, "60000")]),
        ErrorCode.INVALID_REQUEST,
        "Default topic resources are not allowed.",
    ),
    (
        Changed(TOPIC, "t", [Change("segment.ms", APPEND, "1")]),
        ErrorCode.INVALID_CONFIG,
        "Can't APPEND to key segment.ms because its type is not LIST.",
    ),
    (
        Changed(TOPIC, "t", [Change("segment.ms", SET, None)]),
        ErrorCode.INVALID_REQUEST,
        "Null value not supported for : segment.ms",
    ),
    (
        Changed(TOPIC, "t", [Change("segment.ms", SET, "1"), Change("segment.ms", DELETE)]),
        ErrorCode.INVALID_REQUEST,
        "Error due to duplicate config keys",
    ),
    (
        Changed(TOPIC, "t", [Change("segment.ms", 9, "1")]),
        ErrorCode.INVALID_REQUEST,
        "Unknown operations type 9",
    ),
    (
        Changed(TOPIC, "t", [Change("cleanup.policy", SET, "x" * 32_768)]),
        ErrorCode.INVALID_CONFIG,
        "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes.",
    ),
    (
        Changed(BROKER, "7", [Change("log.cleaner.threads", SET, "2")]),
        ErrorCode.INVALID_REQUEST,
        "Unexpected broker id, expected 1, but received 7",
    ),
    (
        Changed(BROKER, "one", [Change("log.cleaner.threads", SET, "2")]),
        ErrorCode.INVALID_REQUEST,
        "Node id must be an integer, but it is: one",
    ),
    (
        Changed(BROKER, "", [Change("log.cleaner.threads", APPEND, "2")]),
        ErrorCode.INVALID_REQUEST,
        "Config value append is not allowed for config key: log.cleaner.threads",
    ),
    (
        Changed(BROKER, "1", [Change("log.cleaner.threads", SET, "3")]),
        ErrorCode.INVALID_REQUEST,
        "Invalid value org.apache.kafka.common.config.ConfigException: Log cleaner threads cannot be increased to more "
        "than double the current value 1 for configuration Invalid dynamic configuration",
    ),
    (
        Changed(BROKER, "", [Change("background.threads", SET, "4")]),
        ErrorCode.INVALID_REQUEST,
        "Invalid value org.apache.kafka.common.config.ConfigException: Dynamic thread count update validation failed "
        "for background.threads=4, value should be at least half the current value 10 for configuration Invalid "
        "dynamic configuration",
    ),
    (
        Changed(BROKER, "1", [Change("min.insync.replicas", SET, "1")]),
        ErrorCode.INVALID_REQUEST,
        None,
    ),
    (
        Changed(BROKER, "", [Change("min.insync.replicas", DELETE)]),
        ErrorCode.INVALID_CONFIG,
        "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
    ),
    (
        Changed(LOGGER, "1", [Change("kafka.server", SET, "DEBUG")]),
        ErrorCode.INVALID_CONFIG,
        "Logger kafka.server does not exist!",
    ),
    (
        Changed(LOGGER, "1", [Change("kafka.server", APPEND, "DEBUG")]),
        ErrorCode.INVALID_REQUEST,
        "APPEND operation is not allowed for the BROKER_LOGGER resource",
    ),
    (
        Changed(GROUP, "", [Change("consumer.session.timeout.ms", SET, "50000")]),
        ErrorCode.INVALID_REQUEST,
        "Default group resources are not allowed.",
    ),
    (Changed(99, "x", []), ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
]


@pytest.mark.parametrize(("resource", "code", "sentence"), REFUSED, ids=[str(case[2])[:50] for case in REFUSED])
def test_refusals(resource: Changed, code: ErrorCode, sentence: str | None) -> None:
    core, image = with_topic()
    before = {key: dict(configs) for key, configs in image.configs.items()}
    [(error_code, message)] = change(core, image, resource)
    if sentence is not None:
        assert (error_code, message) == (code, sentence)
    assert error_code != 0
    assert image.configs == before


def test_resource_named_twice_is_refused_both_times() -> None:
    core, image = with_topic()
    resource = Changed(TOPIC, "t", [Change("retention.ms", SET, "5")])
    refusal = (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert change(core, image, resource, Changed(GROUP, "t", []), resource) == [refusal, (0, None), refusal]


def test_min_insync_replicas_clears_eligible_leader_replicas() -> None:
    core, image = with_topic()
    request = IncrementalAlterConfigsRequest(
        [
            Changed(TOPIC, "t", [Change("min.insync.replicas", SET, "2")]),
            Changed(BROKER, "", [Change("min.insync.replicas", SET, "2")]),
        ]
    )
    assert run_to_end(incremental_alter_configs(image, request, core)).records == [
        ConfigRecord(TOPIC, "t", "min.insync.replicas", "2"),
        ClearElrRecord("t"),
        ConfigRecord(BROKER, "", "min.insync.replicas", "2"),
        ClearElrRecord(""),
    ]
    apply(image, [FeatureLevelRecord("eligible.leader.replicas.version", 0)])
    assert not any(
        isinstance(record, ClearElrRecord)
        for record in run_to_end(incremental_alter_configs(image, request, core)).records
    )


def test_old_api_replaces_everything() -> None:
    core, image = with_topic()
    request = AlterConfigsRequest([Altered(TOPIC, "t", [AlteredConfig("retention.ms", "5")])])
    decision = run_to_end(alter_configs(image, request, core))
    assert decision.records == [
        ConfigRecord(TOPIC, "t", "retention.ms", "5"),
        ConfigRecord(TOPIC, "t", "segment.ms", None),
    ]
    apply(image, decision.records)
    assert image.config_of(TOPIC, "t") == {"retention.ms": "5"}
    carry_out(image, alter_configs(image, AlterConfigsRequest([Altered(TOPIC, "t", [])]), core))
    assert (ResourceType.TOPIC, "t") not in image.configs


def test_old_api_refuses() -> None:
    core, image = with_topic()
    request = AlterConfigsRequest(
        [
            Altered(TOPIC, "nowhere", [AlteredConfig("retention.ms", "5")]),
            Altered(TOPIC, "t", [AlteredConfig("retention.ms", None)]),
            Altered(LOGGER, "1", [AlteredConfig("kafka", "DEBUG")]),
            Altered(BROKER, "1", [AlteredConfig("node.id", "2")]),
        ]
    )
    decision = run_to_end(alter_configs(image, request, core))
    assert [one.error_code for one in decision.response.responses] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert not decision.records


def test_broker_of_a_cluster_decides_loggers_and_its_own_mistakes_and_leaves_the_rest() -> None:
    core, image = with_topic()
    own = [Change("log.cleaner.threads", SET, "2")]
    request = IncrementalAlterConfigsRequest(
        [
            Changed(TOPIC, "unknown", [Change("retention.ms", 9, "5")]),
            Changed(BROKER, "1", own),
            Changed(BROKER, "", own),
            Changed(GROUP, "g", []),
            Changed(BROKER, "7", own),
            Changed(BROKER, "1", own),
            Changed(LOGGER, "1", [Change("x", SET, "DEBUG")]),
            Changed(LOGGER, "7", []),
            Changed(77, "x", []),
        ]
    )
    decided = run_to_end(preprocess(image, request, core))
    twice = ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    assert decided == [
        None,
        twice,
        None,
        None,
        ApiError(ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1, but received 7"),
        twice,
        ApiError(ErrorCode.INVALID_CONFIG, "Logger x does not exist!"),
        ApiError(ErrorCode.INVALID_REQUEST, "Unexpected node id. Expected 1, but received 7"),
        ApiError(ErrorCode.INVALID_REQUEST, "Unknown resource type 77"),
    ]
    theirs = {(TOPIC, "unknown"): ApiError(ErrorCode.INVALID_REQUEST, "no"), (GROUP, "g"): NO_ERROR}
    answers = run_to_end(merge(request, decided, theirs)).responses
    assert [(one.resource_type, one.resource_name) for one in answers] == [
        (one.resource_type, one.resource_name) for one in request.resources
    ]
    codes = [ErrorCode(one.error_code) for one in answers]
    assert codes[:4] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_SERVER_ERROR,  # the controllers have not answered this request yet
        ErrorCode.NONE,
    ]
    assert all(codes[4:])


def test_replacement_is_decided_in_the_same_way_but_knows_no_loggers() -> None:
    core, image = with_topic()
    request = AlterConfigsRequest(
        [
            Altered(TOPIC, "t", [AlteredConfig("retention.ms", "5")]),
            Altered(BROKER, "1", [AlteredConfig("broker.rack", "r")]),
            Altered(BROKER, "", [AlteredConfig("log.cleaner.threads", "2")]),
            Altered(LOGGER, "1", [AlteredConfig("x", "DEBUG")]),
        ]
    )
    decided = run_to_end(preprocess(image, request, core))
    assert [one is None for one in decided] == [True, False, True, False]
    assert decided[3] == ApiError(ErrorCode.INVALID_REQUEST, "Unknown resource type 8")
    theirs = {(TOPIC, "t"): NO_ERROR, (BROKER, ""): NO_ERROR}
    first, second, third, fourth = run_to_end(merge(request, decided, theirs)).responses
    assert (first.error_code, third.error_code) == (0, 0)
    assert second.error_code == fourth.error_code == ErrorCode.INVALID_REQUEST


def test_levels_of_loggers_are_checked_and_not_stored() -> None:
    core, image = with_topic()
    core = core._replace(has_logger=lambda name: name == "odradek.broker")
    before = dict(image.configs)
    assert change(core, image, Changed(LOGGER, "1", [Change("odradek.broker", SET, "WARN")])) == [(0, None)]
    assert change(core, image, Changed(LOGGER, "1", [Change("odradek.broker", DELETE)])) == [(0, None)]
    [(code, _)] = change(core, image, Changed(LOGGER, "2", [Change("odradek.broker", SET, "WARN")]))
    assert code == ErrorCode.INVALID_REQUEST, "the logger of another node"
    assert image.configs == before
