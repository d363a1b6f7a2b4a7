"""UnregisterBroker removes a broker that has gone, also from partitions, and no other. UnregisterController removes a
controller that has gone."""

from pathlib import Path

import pytest

from odradek.broker.metadata.controller.unregistration import unregister_broker, unregister_controller
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import (
    FeatureLevelRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
)
from support.brokers.metadata_images import NODE_ID
from support.brokers.metadata_service import NOW_MS, open_service

GONE = NODE_ID + 1
EPOCH = 5
TOPIC_ID = b"a topic's own id"


def with_a_broker_that_has_gone(service: MetadataService) -> None:
    replicas = [GONE, NODE_ID]
    service.commit(
        [
            RegisterBrokerRecord(
                GONE, incarnation_id=bytes(15) + b"\1", broker_epoch=EPOCH, log_dirs=[bytes(15) + b"\2"]
            )
        ],
        NOW_MS,
    )
    partitions = [
        PartitionRecord(0, TOPIC_ID, replicas, isr, leader=leader, directories=[bytes(16)] * 2)
        for isr, leader in ((replicas, GONE), ([NODE_ID], NODE_ID), ([GONE], GONE))
    ]
    for index, partition in enumerate(partitions):
        partition.partition_id = index
    service.commit([TopicRecord("t", TOPIC_ID), *partitions], NOW_MS)


def test_a_broker_that_has_gone_leaves_partitions_and_registrations(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        with_a_broker_that_has_gone(service)
        decision = run_to_end(unregister_broker(service.image, GONE, NODE_ID))
        assert decision.response.error_code == ErrorCode.NONE
        service.commit(decision.records, NOW_MS)
        assert GONE not in service.image.brokers
        partitions = service.image.topics_by_name["t"].partitions
        assert all(GONE not in partition.isr and partition.leader != GONE for partition in partitions.values())
        assert partitions[1].isr == (NODE_ID,)
    with open_service(tmp_path, crash=True) as service:
        assert GONE not in service.image.brokers


@pytest.mark.parametrize(
    ("broker_id", "code"), [(99, ErrorCode.BROKER_ID_NOT_REGISTERED), (NODE_ID, ErrorCode.INVALID_REQUEST)]
)
def test_others_are_refused(tmp_path: Path, broker_id: int, code: ErrorCode) -> None:
    with open_service(tmp_path) as service:
        service.commit([RegisterBrokerRecord(NODE_ID, incarnation_id=bytes(15) + b"\1", broker_epoch=EPOCH)], NOW_MS)
        with pytest.raises(KafkaError) as raised:
            run_to_end(unregister_broker(service.image, broker_id, NODE_ID))
    assert raised.value.error_code is code


def test_a_controller_that_has_gone_is_unregistered(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        service.commit([RegisterControllerRecord(GONE), RegisterControllerRecord(GONE + 1)], NOW_MS)
        decision = run_to_end(unregister_controller(service.image, GONE, NODE_ID))
        assert decision.response.error_code == ErrorCode.NONE
        service.commit(decision.records, NOW_MS)
    with open_service(tmp_path, crash=True) as service:
        kept = [record for record, _ in service.image.kept_records(RegisterControllerRecord)]
        assert kept == [RegisterControllerRecord(GONE + 1)]
        with pytest.raises(KafkaError, match="Controller ID 2 is not currently registered") as raised:
            run_to_end(unregister_controller(service.image, GONE, NODE_ID))
    assert raised.value.error_code is ErrorCode.CONTROLLER_ID_NOT_REGISTERED


def test_no_controller_is_unregistered_at_a_level_that_has_no_record_for_it(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        level = FeatureLevelRecord("metadata.version", 32)
        service.commit([RegisterControllerRecord(GONE), level], NOW_MS)
        with pytest.raises(KafkaError) as raised:
            run_to_end(unregister_controller(service.image, GONE, NODE_ID))
    assert raised.value.error_code is ErrorCode.UNSUPPORTED_VERSION
