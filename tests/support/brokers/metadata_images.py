"""Metadata images for tests: made as a broker makes them, by replaying records."""

from collections.abc import Callable, Iterable

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.registration import bootstrap_records, registration_records
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import Endpoint, MetadataDelta, MetadataImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.publisher.decision import Decision, Response
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

NODE_ID = 1
DIRECTORY = bytes(range(16, 32))
ENDPOINT = Endpoint("PLAINTEXT", "127.0.0.1", 9092)
Topic = CreateTopicsRequest.CreatableTopic


def numbered_uuids() -> Callable[[], bytes]:
    """A source of ids that gives 1, 2, 3 … as 16 bytes, above the reserved ones."""
    last = 255

    def next_uuid() -> bytes:
        nonlocal last
        last += 1
        return last.to_bytes(16, "big")

    return next_uuid


def controller(*overrides: str, node_id: int = NODE_ID) -> Controller:
    """A controller core with a configuration of ``key=value`` overrides."""
    config = ServerConfig.load(None, [f"node.id={node_id}", *overrides], {})
    return Controller(node_id, config, numbered_uuids())


def directory_of(broker_id: int) -> bytes:
    """The directory id of one of the other brokers."""
    return b"directory" + broker_id.to_bytes(7, "big")


def apply(image: MetadataImage, records: Iterable[Message]) -> MetadataDelta:
    """Replays records; returns what they changed."""
    delta = MetadataDelta()
    for record in records:
        replay(image, record, delta)
    return delta


def started(core: Controller, *other_brokers: int, directories: tuple[bytes, ...] = (DIRECTORY,)) -> MetadataImage:
    """The image of a new cluster in which this broker and ``other_brokers`` have registered, each with its own
    directory.
    """
    image = MetadataImage()
    apply(image, bootstrap_records(core.config))
    apply(image, registration_records(core, [ENDPOINT], directories, 5))
    for broker_id in other_brokers:
        other = Controller(broker_id, core.config, core.random_uuid)
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 9092 + broker_id)
        apply(image, registration_records(other, [endpoint], [directory_of(broker_id)], 100 + broker_id))
    return image


def carry_out(image: MetadataImage, steps: Steps[Decision[Response]]) -> Response:
    """Replays a decision's records; returns its response."""
    decision = run_to_end(steps)
    apply(image, decision.records)
    return decision.response


def create(
    image: MetadataImage, core: Controller, *topics: CreateTopicsRequest.CreatableTopic
) -> list[CreateTopicsResponse.CreatableTopicResult]:
    """Creates topics; the records are replayed."""
    return carry_out(image, create_topics(image, CreateTopicsRequest(list(topics)), core)).topics


def two_brokers() -> tuple[Controller, MetadataImage]:
    """A controller and the image of two started brokers."""
    core = controller()
    return core, started(core, 2)


def with_topics(*names: str) -> tuple[Controller, MetadataImage]:
    """A controller and an image with topics of two partitions each."""
    core = controller()
    image = started(core)
    create(image, core, *(Topic(name, 2, 1) for name in names))
    return core, image
