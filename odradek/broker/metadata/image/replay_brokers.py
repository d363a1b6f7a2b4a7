"""The effects of the records of brokers' registrations.

Pure. Owns: ``brokers`` of the image. Never does: I/O, reading a clock, deciding. Invariant: only records with the epoch
of a registration change it. Source: ``replay`` of Kafka's ClusterDelta.
"""

from odradek.protocol.messages import metadata_records as records

from .image import BrokerRegistration, Endpoint, MetadataCorruption, MetadataDelta, MetadataImage, SecurityProtocol

FENCE, UNFENCE = 1, -1


def register_broker(image: MetadataImage, record: records.RegisterBrokerRecord, delta: MetadataDelta) -> None:
    """Adds a broker, or replaces its registration."""
    image.own("brokers")
    image.brokers[record.broker_id] = BrokerRegistration(
        broker_id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        endpoints={
            point.name: Endpoint(point.name, point.host, point.port, SecurityProtocol(point.security_protocol))
            for point in record.end_points
        },
        features={
            feature.name: (feature.min_supported_version, feature.max_supported_version) for feature in record.features
        },
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=tuple(record.log_dirs),
        cordoned_directories=tuple(record.cordoned_log_dirs or ()),
        has_reported_cordoned=record.cordoned_log_dirs is not None,
        is_migrating_zk_broker=record.is_migrating_zk_broker,
    )
    delta.changed_brokers[record.broker_id] = None


def _registration(image: MetadataImage, broker_id: int, epoch: int) -> BrokerRegistration:
    broker = image.brokers.get(broker_id)
    if broker is None or broker.epoch != epoch:
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        raise MetadataCorruption(f"broker {broker_id} with epoch {epoch} is {known}")
    return broker


def change_registration(
    image: MetadataImage, record: records.BrokerRegistrationChangeRecord, delta: MetadataDelta
) -> None:
    """Changes the fields of a registration that the record names. Raises MetadataCorruption for another epoch."""
    broker = _registration(image, record.broker_id, record.broker_epoch)
    image.own("brokers")
    cordoned = record.cordoned_log_dirs
    image.brokers[broker.broker_id] = broker._replace(
        fenced=broker.fenced if record.fenced == 0 else record.fenced == FENCE,
        in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown == 1,
        directories=tuple(record.log_dirs) or broker.directories,
        cordoned_directories=broker.cordoned_directories if cordoned is None else tuple(cordoned),
        has_reported_cordoned=broker.has_reported_cordoned or cordoned is not None,
    )
    delta.changed_brokers[broker.broker_id] = None


def fence_broker(image: MetadataImage, record: records.FenceBrokerRecord, delta: MetadataDelta) -> None:
    """Fences a broker. Raises MetadataCorruption if it is not registered with the epoch."""
    image.own("brokers")
    image.brokers[record.id] = _registration(image, record.id, record.epoch)._replace(fenced=True)
    delta.changed_brokers[record.id] = None


def unfence_broker(image: MetadataImage, record: records.UnfenceBrokerRecord, delta: MetadataDelta) -> None:
    """Unfences a broker. Raises MetadataCorruption if it is not registered with the epoch."""
    image.own("brokers")
    image.brokers[record.id] = _registration(image, record.id, record.epoch)._replace(fenced=False)
    delta.changed_brokers[record.id] = None


def unregister_broker(image: MetadataImage, record: records.UnregisterBrokerRecord, delta: MetadataDelta) -> None:
    """Removes a broker. Raises MetadataCorruption if it is not registered with the epoch."""
    _registration(image, record.broker_id, record.broker_epoch)
    image.own("brokers")
    del image.brokers[record.broker_id]
    delta.changed_brokers[record.broker_id] = None
