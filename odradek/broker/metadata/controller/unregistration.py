"""Removes the registration of another broker or controller. Pure: an id goes in, records come out.

Such a registration is left in a directory that was part of a cluster, or that a Kafka with another node id has served.
It stops the raise of a feature that the broker did not support. Source: ``QuorumController.unregisterBroker``,
``ReplicationControlManager.handleBrokerUnregistered``, ``ClusterControlManager.unregisterController``.
"""

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import (
    RegisterControllerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from odradek.protocol.messages.quorum import UnregisterBrokerResponse, UnregisterControllerResponse
from odradek.protocol.messages.structure import Message

from ..image.features import CONTROLLER_UNREGISTRATION_SUPPORTED
from ..image.image import MetadataImage
from ..publisher.decision import Decision
from .elections import leave_partition

TOPICS_A_STEP = 100


def unregister_broker(image: MetadataImage, broker_id: int, own_id: int) -> Steps[Decision[UnregisterBrokerResponse]]:
    """Takes the broker out of all in-sync replicas and leaderships, and removes its registration.

    Raises KafkaError BROKER_ID_NOT_REGISTERED; INVALID_REQUEST for ``own_id``, the broker that serves this request.
    """
    broker = image.brokers.get(broker_id)
    if broker is None:
        sentence = f"Broker ID {broker_id} is not currently registered"
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, sentence)
    if broker_id == own_id:
        sentence = f"Broker ID {broker_id} is this broker, which is running. Only others can be unregistered."
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
    records: list[Message] = []
    for number, topic in enumerate(image.topics_by_id.values(), 1):
        records += [
            leave_partition(image, topic.topic_id, index, partition, broker_id)
            for index, partition in topic.partitions.items()
            if broker_id in partition.isr or partition.leader == broker_id
        ]
        if not number % TOPICS_A_STEP:
            yield
    records.append(UnregisterBrokerRecord(broker_id, broker.epoch))
    return Decision(UnregisterBrokerResponse(), records)


def unregister_controller(
    image: MetadataImage, controller_id: int, own_id: int
) -> Steps[Decision[UnregisterControllerResponse]]:
    """Removes a controller's registration.

    Raises KafkaError: INVALID_REQUEST for ``own_id``, UNSUPPORTED_VERSION, CONTROLLER_ID_NOT_REGISTERED, in this order.
    """
    yield from ()  # a decision is made in steps; this one needs no pause
    if controller_id == own_id:
        sentence = "Controller cannot unregister itself while it is active."
        raise KafkaError(ErrorCode.INVALID_REQUEST, sentence)
    if image.metadata_version < CONTROLLER_UNREGISTRATION_SUPPORTED:
        sentence = "The current MetadataVersion is too old to support controller unregistration."
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, sentence)
    registered = (record for record, _ in image.kept_records(RegisterControllerRecord))
    if not any(
        isinstance(record, RegisterControllerRecord) and record.controller_id == controller_id for record in registered
    ):
        sentence = f"Controller ID {controller_id} is not currently registered."
        raise KafkaError(ErrorCode.CONTROLLER_ID_NOT_REGISTERED, sentence)
    return Decision(UnregisterControllerResponse(), [UnregisterControllerRecord(controller_id)])
