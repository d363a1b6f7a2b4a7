"""A topic's hash covers each partition's number and the sorted racks of its replicas (``Utils.computeTopicHash``)."""

import struct

import xxhash

from odradek.broker.groups.modern.metadata_hash import group_hash
from odradek.broker.groups.modern.topics import GroupTopics
from odradek.broker.metadata.image.image import BrokerRegistration, MetadataImage, PartitionImage, TopicImage

TOPIC_ID = bytes(range(16))
RACKS = {1: "zone b", 2: None, 3: "zone ä"}
REPLICAS = ((1, 3), (3, 1), (2, 1), (2,), (3,))


def broker(broker_id: int, rack: str | None) -> BrokerRegistration:
    return BrokerRegistration(broker_id, 1, bytes(16), {}, {}, rack, False, False, ())


def partition(replicas: tuple[int, ...]) -> PartitionImage:
    return PartitionImage(replicas, (bytes(16),) * len(replicas), replicas, replicas[0], 0, 0)


def text(value: str) -> bytes:
    units = value.encode("utf-16-le")
    return units + struct.pack("<i", len(units) // 2)


def signed(data: bytes) -> int:
    return int.from_bytes(xxhash.xxh3_64_intdigest(data).to_bytes(8, "little"), "little", signed=True)


def test_a_hash_covers_the_racks_of_each_partition() -> None:
    topic = TopicImage("t", TOPIC_ID, {index: partition(replicas) for index, replicas in enumerate(REPLICAS)})
    image = MetadataImage()
    image.topics_by_name["t"] = image.topics_by_id[TOPIC_ID] = topic
    image.brokers.update({broker_id: broker(broker_id, rack) for broker_id, rack in RACKS.items()})
    expected = b"\0" + TOPIC_ID[7::-1] + TOPIC_ID[:7:-1] + text("t") + struct.pack("<i", len(REPLICAS))
    for index, racks in enumerate((["zone b", "zone ä"], ["zone b", "zone ä"], ["zone b"], [], ["zone ä"])):
        expected += struct.pack("<i", index)
        for rack in racks:
            expected += struct.pack("<i", len(rack)) + text(rack)
    of_topic = struct.pack("<q", signed(expected))
    assert group_hash(["t", "unknown"], GroupTopics(lambda: image)) == signed(of_topic)
