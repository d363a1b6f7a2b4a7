"""The lines of other images' logs that programs wait for: ``odradek serve --announce-as-kafka``, as in our image.

Owns: their texts, and when each is printed. Modules of Testcontainers wait for them (docs/docker-and-kubernetes.md).
"""

from collections.abc import Iterator

from ..metadata.image import MetadataDelta, MetadataImage
from ..metadata.published import PublishedMetadata

STARTED = (
    "[KafkaServer id={}] started",
    "[BrokerServer id={}] Transition from STARTING to STARTED",
    "Transitioning from RECOVERY to RUNNING.",
    "Kafka Server started",
    "Creating new log file",
)
"""What Apache's and Confluent's images log when they serve, with the node's id. The last one comes from the ZooKeeper
that ran in Confluent's images; after it the module for Rust sets the address that clients get."""
READDRESSED = "Checking need to trigger auto leader balancing"
"""A line of Kafka's old controller. The module for Rust waits for it after it has set the address."""


def announce(metadata: PublishedMetadata) -> None:
    """Prints that the broker serves, and from now on when its addresses for clients have changed."""
    node_id = metadata.node_id
    for line in STARTED:
        print(line.format(node_id), flush=True)
    endpoints = metadata.image.brokers[node_id].endpoints

    def changed(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        nonlocal endpoints
        if node_id in delta.changed_brokers and image.brokers[node_id].endpoints != endpoints:
            endpoints = image.brokers[node_id].endpoints
            print(READDRESSED, flush=True)
        yield

    metadata.subscribe(changed)
