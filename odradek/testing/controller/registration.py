"""Decides on registrations of brokers. Pure: an image and a request go in, records and an answer come out.

Source: ClusterControlManager.registerBroker; KIP-631, KIP-858.
"""

from odradek.broker.metadata.image.image import (
    DIRECTORY_LOST,
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    MetadataImage,
)
from odradek.broker.metadata.publisher.decision import Decision
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import RegisterBrokerRecord
from odradek.protocol.messages.quorum import BrokerRegistrationRequest, BrokerRegistrationResponse
from odradek.protocol.messages.structure import Message

from .broker_transitions import departure_records

RESERVED_DIRECTORIES = frozenset({DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, DIRECTORY_LOST})


def register_broker(
    image: MetadataImage,
    request: BrokerRegistrationRequest,
    *,
    cluster_id: str,
    end_offset: int,
    has_session: bool,
) -> Decision[BrokerRegistrationResponse]:
    """Registers a broker; a new incarnation begins fenced, and its epoch is the offset of its RegisterBroker record.

    ``end_offset``: the log end offset of the metadata log. ``has_session``: whether the session of the incarnation that
    is registered now is still valid."""
    code = _refusal(image, request, cluster_id, has_session)
    if code is not ErrorCode.NONE:
        return Decision(BrokerRegistrationResponse(error_code=code, broker_epoch=-1))
    before = image.brokers.get(request.broker_id)
    record = _record(request)
    records: list[Message] = []
    if before is not None and before.incarnation_id == request.incarnation_id:
        record.broker_epoch = before.epoch
        record.fenced, record.in_controlled_shutdown = before.fenced, before.in_controlled_shutdown
    else:
        if before is not None:
            records += departure_records(image, request.broker_id)
        record.broker_epoch = end_offset + len(records)
    records.append(record)
    return Decision(BrokerRegistrationResponse(broker_epoch=record.broker_epoch), records)


def _refusal(image: MetadataImage, request: BrokerRegistrationRequest, cluster_id: str, has_session: bool) -> ErrorCode:
    if request.cluster_id != cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    before = image.brokers.get(request.broker_id)
    if before is not None and before.incarnation_id != request.incarnation_id and has_session:
        return ErrorCode.DUPLICATE_BROKER_REGISTRATION
    directories = set(request.log_dirs)
    taken = {directory for broker in image.brokers.values() if broker is not before for directory in broker.directories}
    if (
        not directories
        or len(directories) < len(request.log_dirs)
        or directories & RESERVED_DIRECTORIES
        or directories & taken
    ):
        return ErrorCode.INVALID_REGISTRATION
    ranges = {
        feature.name: (feature.min_supported_version, feature.max_supported_version) for feature in request.features
    }
    for name, level in image.features.items():
        lowest, highest = ranges.get(name, (0, 0))
        if not lowest <= level <= highest:
            return ErrorCode.UNSUPPORTED_VERSION
    return ErrorCode.NONE


def _record(request: BrokerRegistrationRequest) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        end_points=[
            RegisterBrokerRecord.BrokerEndpoint(listener.name, listener.host, listener.port, listener.security_protocol)
            for listener in request.listeners
        ],
        features=[
            RegisterBrokerRecord.BrokerFeature(
                feature.name, feature.min_supported_version, feature.max_supported_version
            )
            for feature in request.features
        ],
        rack=request.rack,
        fenced=True,
        log_dirs=sorted(request.log_dirs),
    )
