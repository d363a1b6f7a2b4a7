"""The controller's handler of each API (:data:`SERVED`).

Shell. Owns: the table. Never does: deciding, sockets. Invariant: ApiVersions announces the APIs of the table and those
that are answered in an Envelope. Source: ControllerApis.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from odradek.broker.metadata.controller.directories import cordoned_records, offline_records
from odradek.broker.metadata.controller.placement import Placer
from odradek.broker.metadata.controller.registration import producer_id_block
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.publisher.decision import Decision
from odradek.broker.timers.loop_timers import monotonic_ms
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.quorum import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from odradek.protocol.messages.structure import Message

from .active_controller import ActiveController
from .alter_partition import alter_partition
from .broker_sessions import BrokerControlState
from .broker_transitions import leads_any, transition_records
from .envelope import IN_ENVELOPES, answer_create_topics, answer_envelope
from .metadata_requests import answer_fetch, answer_fetch_snapshot
from .registration import register_broker
from .replica_directories import assign_replicas

Handler = Callable[[ActiveController, Any], Awaitable[Message]]


async def answer_api_versions(controller: ActiveController, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """ApiVersions: the versions of the APIs that are answered directly or in an Envelope."""
    kind = ApiVersionsResponse.ApiVersion
    return ApiVersionsResponse(
        api_keys=[kind(key, *api(key).stable_versions) for key in sorted({*SERVED, *IN_ENVELOPES})]
    )


async def answer_registration(
    controller: ActiveController, request: BrokerRegistrationRequest
) -> BrokerRegistrationResponse:
    """BrokerRegistration: registers a broker; refused while another incarnation of it has a valid session."""
    metadata, broker_id = controller.metadata, request.broker_id

    def decide(image: MetadataImage) -> Decision[BrokerRegistrationResponse]:
        return register_broker(
            image,
            request,
            cluster_id=metadata.cluster_id,
            end_offset=metadata.log.log_end_offset,
            has_session=controller.sessions.is_valid(broker_id, monotonic_ms()),
        )

    response = await controller.change(decide)
    if not response.error_code:
        controller.registered_at[broker_id] = metadata.log.log_end_offset - 1
        controller.sessions.begin([broker_id], monotonic_ms())
    return response


async def answer_heartbeat(controller: ActiveController, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse:
    """BrokerHeartbeat: records which directories are offline or cordoned; fences, unfences or shuts down the broker."""
    broker_id = request.broker_id
    if not _is_current(controller.metadata.image, request):
        return BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    controller.sessions.touch(broker_id, request.current_metadata_offset, monotonic_ms())
    for directory_id in request.offline_log_dirs:
        await controller.change(partial(_directory_offline, controller, broker_id, directory_id))
    if request.cordoned_log_dirs is not None:
        await controller.change(partial(_cordoned, controller, broker_id, request.cordoned_log_dirs))
    registered_at = controller.registered_at[broker_id]

    def decide(image: MetadataImage) -> Decision[BrokerControlState]:
        state = controller.sessions.next_state(
            image.brokers[broker_id],
            request,
            registered_at=registered_at,
            leads=leads_any(image, broker_id),
            active=[active_id for active_id, other in image.brokers.items() if other.is_active],
        )
        return Decision(state, transition_records(image, broker_id, state))

    was_stopping = controller.metadata.image.brokers[broker_id].in_controlled_shutdown
    state = await controller.change(decide)
    if state is BrokerControlState.CONTROLLED_SHUTDOWN and not was_stopping:
        controller.sessions.shutdown_began(broker_id, controller.metadata.log.log_end_offset - 1)
    if state is BrokerControlState.SHUTDOWN_NOW:
        controller.sessions.end(broker_id)
    return BrokerHeartbeatResponse(
        is_caught_up=request.current_metadata_offset >= registered_at,
        is_fenced=state.is_fenced,
        should_shut_down=state is BrokerControlState.SHUTDOWN_NOW,
    )


def _is_current(image: MetadataImage, request: BrokerHeartbeatRequest | AllocateProducerIdsRequest) -> bool:
    broker = image.brokers.get(request.broker_id)
    return broker is not None and broker.epoch == request.broker_epoch


def _directory_offline(
    controller: ActiveController, broker_id: int, directory_id: bytes, image: MetadataImage
) -> Decision[None]:
    of_broker = controller.controller._replace(node_id=broker_id)
    return Decision(None, offline_records(image, of_broker, directory_id))


def _cordoned(
    controller: ActiveController, broker_id: int, directory_ids: Sequence[bytes], image: MetadataImage
) -> Decision[None]:
    of_broker = controller.controller._replace(node_id=broker_id)
    return Decision(None, cordoned_records(image, of_broker, directory_ids))


async def answer_producer_ids(
    controller: ActiveController, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    """AllocateProducerIds: gives a broker the next block of producer ids."""

    def decide(image: MetadataImage) -> Decision[AllocateProducerIdsResponse]:
        if not _is_current(image, request):
            return Decision(AllocateProducerIdsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        block, records = producer_id_block(image, controller.controller._replace(node_id=request.broker_id))
        return Decision(AllocateProducerIdsResponse(producer_id_start=block.start, producer_id_len=len(block)), records)

    return await controller.change(decide)


async def answer_alter_partition(
    controller: ActiveController, request: AlterPartitionRequest
) -> AlterPartitionResponse:
    """AlterPartition: changes the ISR of partitions as their leader asks."""

    def decide(image: MetadataImage) -> Decision[AlterPartitionResponse]:
        return alter_partition(image, request, Placer(image, controller.controller))

    return await controller.change(decide)


async def answer_assignments(
    controller: ActiveController, request: AssignReplicasToDirsRequest
) -> AssignReplicasToDirsResponse:
    """AssignReplicasToDirs: records which log directory holds each replica of a broker."""
    return await controller.change(lambda image: assign_replicas(image, request))


SERVED: Mapping[int, Handler] = {
    ApiKey.API_VERSIONS: answer_api_versions,
    ApiKey.FETCH: answer_fetch,
    ApiKey.FETCH_SNAPSHOT: answer_fetch_snapshot,
    ApiKey.BROKER_REGISTRATION: answer_registration,
    ApiKey.BROKER_HEARTBEAT: answer_heartbeat,
    ApiKey.ALLOCATE_PRODUCER_IDS: answer_producer_ids,
    ApiKey.ALTER_PARTITION: answer_alter_partition,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: answer_assignments,
    ApiKey.CREATE_TOPICS: answer_create_topics,
    ApiKey.ENVELOPE: answer_envelope,
}
"""API key -> its handler. The APIs of forwarded requests are in :data:`.envelope.IN_ENVELOPES`."""
