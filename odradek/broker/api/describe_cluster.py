"""DescribeCluster (60): the cluster id, the brokers and the controller.

Versions: 0 to 2. 1: the type of endpoint (brokers 1, controllers 2). 2: fenced brokers, if asked for.
Errors: UNSUPPORTED_ENDPOINT_TYPE, MISMATCHED_ENDPOINT_TYPE (a request for controllers: only brokers are served here).
As in Kafka, ``controller_id`` is a broker that takes requests for the controller. Source: KIP-700, KIP-919, KIP-1073;
``AuthHelper.computeDescribeClusterResponse``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse

from ..dispatch.request import RequestContext
from ..security.authorization.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from .parts import MetadataParts

API_KEY = ApiKey.DESCRIBE_CLUSTER
BROKERS, CONTROLLERS = 1, 2


def handle(
    broker: MetadataParts,
    request: DescribeClusterRequest,
    context: RequestContext,
    reply: Callable[[DescribeClusterResponse], None],
) -> None:
    """Answers from the metadata image."""
    version = context.api_version
    if version >= 1 and request.endpoint_type != BROKERS:
        reply(_refusal(request.endpoint_type))
        return
    metadata = broker.metadata
    brokers = []
    for broker_id in sorted(metadata.image.brokers):
        one = metadata.image.brokers[broker_id]
        endpoint = one.endpoints.get(context.listener_name)
        if endpoint is None or (one.fenced and not (version >= 2 and request.include_fenced_brokers)):
            continue
        brokers.append(
            DescribeClusterResponse.DescribeClusterBroker(broker_id, endpoint.host, endpoint.port, one.rack, one.fenced)
        )
    asks_operations = request.include_cluster_authorized_operations
    reply(
        DescribeClusterResponse(
            cluster_id=metadata.cluster_id,
            controller_id=metadata.node_id,
            brokers=brokers,
            cluster_authorized_operations=CLUSTER_OPERATIONS if asks_operations else NOT_ASKED,
        )
    )


def _refusal(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == CONTROLLERS:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        sentence = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        sentence = f"Unsupported endpoint type {endpoint_type}"
    return DescribeClusterResponse(error_code=code, error_message=sentence)
