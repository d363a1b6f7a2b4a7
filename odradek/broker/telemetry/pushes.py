"""Reads what a client pushes, in steps, and keeps it for the metrics endpoint.

Pure but for the given series. Owns: the order of decompressing, reading and keeping. Invariants: decompressed, a push
has ``telemetry.max.bytes`` at most; one step takes about a millisecond. Source: ``ClientTelemetryUtils.decompress``,
``ClientTelemetryExporterPlugin``.
"""

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.telemetry import PushTelemetryRequest
from odradek.protocol.records.compression import CHUNK_SIZE, CompressionType, decompressed_chunks
from odradek.storage.files.meta_properties import uuid_text

from ..metrics.pushed_series import PushedSeries
from .instances import Instance
from .otlp import Attributes, OtlpError, points

SHOWN_OF_CLIENT = ("group_id", "transactional_id")
"""The attributes of the client that its series have as labels."""


def keep(
    series: PushedSeries, request: PushTelemetryRequest, instance: Instance, max_bytes: int, now_ms: int
) -> Steps[bool]:
    """Keeps the values of a push. Returns False if it can't be read; values before the damage are kept."""
    try:
        data = bytearray()
        for chunk in decompressed_chunks(CompressionType(request.compression_type), request.metrics, max_bytes):
            data += chunk
            if len(data) >= CHUNK_SIZE:
                yield
        client = series.begin_push(
            uuid_text(instance.instance_id), instance.fields["client_id"] or "", instance.subscribed.interval_ms, now_ms
        )
        if client is None:
            return True
        for point in points(bytes(data)):
            if point is None:
                yield
                continue
            attributes = point.attributes + _of_client(point.resource)
            series.add(
                client,
                point.name,
                attributes,
                point.value,
                is_counter=point.is_monotonic,
                is_delta=point.is_delta,
            )
        series.end_push(client)
    except (KafkaError, OtlpError):
        return False
    return True


def _of_client(resource: Attributes) -> Attributes:
    return tuple(pair for pair in resource if pair[0] in SHOWN_OF_CLIENT)
