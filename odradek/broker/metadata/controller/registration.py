"""The records of a start and a stop of this broker: features of a new cluster, registration, fencing, producer ids.

Pure. Source: BootstrapMetadata, ClusterControlManager.registerBroker, BrokerLifecycleManager, ProducerIdControlManager.
"""

from collections.abc import Mapping, Sequence

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC

from ...config.server_config import ServerConfig
from ..image.features import (
    BOOTSTRAP_FEATURES,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    SUPPORTED_FEATURES,
    feature_records,
)
from ..image.image import Endpoint, MetadataImage, ResourceType
from ..image.replay_brokers import FENCE, UNFENCE
from ..log.snapshot import broker_record
from .controller import Controller
from .elections import leave_partition

PRODUCER_ID_BLOCK_SIZE = 1000
"""``ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE``."""
MAX_PRODUCER_ID = 0x7FFFFFFFFFFFFFFF


def bootstrap_records(config: ServerConfig, formatted: Sequence[Message] = ()) -> list[Message]:
    """The first records of a new cluster: the feature levels, and the config that eligible leader replicas need.

    ``formatted``: records that the format tool has stored for this start, used instead of our levels. With eligible
    leader replicas, ``min.insync.replicas`` is a cluster-wide config, so that brokers' files can't differ (KIP-966,
    ConfigurationControlManager.maybeGenerateElrSafetyRecords).
    """
    records = list(formatted) or feature_records(BOOTSTRAP_FEATURES)
    levels = {record.name: record.feature_level for record in records if isinstance(record, FeatureLevelRecord)}
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION):
        minimum = str(config.get_int("min.insync.replicas"))
        records.append(ConfigRecord(ResourceType.BROKER, "", "min.insync.replicas", minimum))
    return records


def abort_record() -> Message:
    """The record that ends a metadata transaction of a killed controller."""
    return AbortTransactionRecord(reason="the controller that began it was stopped")


def registration_records(
    controller: Controller, endpoints: Sequence[Endpoint], directory_ids: Sequence[bytes], broker_epoch: int
) -> list[Message]:
    """The records that register this broker, fenced, and then unfence it. ``broker_epoch``: the offset of the first
    one.
    """
    register = RegisterBrokerRecord(
        broker_id=controller.node_id,
        incarnation_id=controller.random_uuid(),
        broker_epoch=broker_epoch,
        end_points=[
            RegisterBrokerRecord.BrokerEndpoint(endpoint.name, endpoint.host, endpoint.port, endpoint.security_protocol)
            for endpoint in endpoints
        ],
        features=[
            RegisterBrokerRecord.BrokerFeature(name, lowest, highest)
            for name, (lowest, highest) in SUPPORTED_FEATURES.items()
        ],
        rack=controller.config["broker.rack"],
        fenced=True,
        log_dirs=sorted(directory_ids),
    )
    return [register, BrokerRegistrationChangeRecord(controller.node_id, broker_epoch, fenced=UNFENCE)]


def readdressed_record(image: MetadataImage, controller: Controller, advertised: str | None) -> Message:
    """The record that gives this broker's registration the addresses of a dynamic ``advertised.listeners``, or those of
    its configuration (None). Raises KafkaError if they can't be advertised.

    The epoch stays, as in a registration that Kafka's controller repeats for the same incarnation of a broker.
    """
    endpoints = {endpoint.name: endpoint for endpoint in controller.endpoints_under(advertised)}
    return broker_record(image.brokers[controller.node_id]._replace(endpoints=endpoints), image.metadata_version)


def stop_records(image: MetadataImage, controller: Controller) -> list[Message]:
    """The records of a clean stop, as in Kafka's controlled shutdown: this broker leaves its partitions, and is fenced.

    The next start then need not wait for a session to expire, and elects leaders before it serves. A Kafka may start
    next in the same directory: if the metadata still named it as leader, its broker would begin to load coordinators,
    and its controller would then take the leadership away.
    """
    node_id = controller.node_id
    broker = image.brokers.get(node_id)
    if broker is None or broker.fenced:
        return []
    return [
        BrokerRegistrationChangeRecord(node_id, broker.epoch, in_controlled_shutdown=1),
        *(
            leave_partition(image, topic.topic_id, index, partition, node_id)
            for topic in image.topics_by_id.values()
            for index, partition in topic.partitions.items()
            if node_id in partition.isr or partition.leader == node_id
        ),
        BrokerRegistrationChangeRecord(node_id, broker.epoch, fenced=FENCE),
    ]


def producer_id_block(image: MetadataImage, controller: Controller) -> tuple[range, list[Message]]:
    """The next block of producer ids, and the record that reserves it. Raises KafkaError if all are used up."""
    first = image.next_producer_id
    if first > MAX_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "Exhausted all producerIds")
    block = range(first, first + PRODUCER_ID_BLOCK_SIZE)
    epoch = image.brokers[controller.node_id].epoch
    return block, [ProducerIdsRecord(controller.node_id, epoch, block.stop)]


def auto_created(
    name: str, config: ServerConfig, configs: Mapping[str, str] | None = None
) -> CreateTopicsRequest.CreatableTopic:
    """The request for an automatically created topic: with the defaults and ``configs``, or the settings of Kafka's
    internal topics.

    Source: AutoTopicCreationManager, GroupCoordinatorService.groupMetadataTopicConfigs and its siblings.
    """
    prefix = {
        OFFSETS_TOPIC: "offsets.topic",
        TRANSACTION_STATE_TOPIC: "transaction.state.log",
        SHARE_STATE_TOPIC: "share.coordinator.state.topic",
    }.get(name)
    if prefix is None:
        return CreateTopicsRequest.CreatableTopic(
            name,
            config.get_int("num.partitions"),
            config.get_int("default.replication.factor"),
            configs=_creatable(configs or {}),
        )
    segment_bytes = str(config.get_int(f"{prefix}.segment.bytes"))
    internal = {
        OFFSETS_TOPIC: {"compression.type": "producer", "cleanup.policy": "compact", "segment.bytes": segment_bytes},
        TRANSACTION_STATE_TOPIC: {
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(config.get_int("transaction.state.log.min.isr")),
            "segment.bytes": segment_bytes,
            "unclean.leader.election.enable": "false",
        },
        SHARE_STATE_TOPIC: {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "segment.bytes": segment_bytes,
            "retention.ms": "-1",
            "min.insync.replicas": str(config.get_int("share.coordinator.state.topic.min.isr")),
        },
    }[name]
    return CreateTopicsRequest.CreatableTopic(
        name,
        config.get_int(f"{prefix}.num.partitions"),
        config.get_int(f"{prefix}.replication.factor"),
        configs=_creatable(internal),
    )


def _creatable(configs: Mapping[str, str]) -> list[CreateTopicsRequest.CreatableTopicConfig]:
    return [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in configs.items()]
