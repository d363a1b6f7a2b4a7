"""The hash that changes with the topics that a group subscribes to, their partitions and their racks.

Pure. XXH3 with 64 bits over little-endian numbers and UTF-16 text followed by its length, as in
ConsumerGroupMetadataValue since Kafka 4.1. Source: ``Utils.computeTopicHash``, ``Utils.computeGroupHash``; KIP-1101.
"""

from collections.abc import Iterable
from struct import Struct, pack

import xxhash

from odradek.protocol.common.steps import Steps

from .topics import GroupTopics

_INT32 = Struct("<i")
_INT64 = Struct("<q")
_HASH = Struct("<Q")
_MAGIC = b"\x00"
WEIGHT_OF_A_TOPIC = 4
WEIGHT_A_STEP = 1_024
"""The work of one step: each partition counts 1 (up to 0.8 us), each topic WEIGHT_OF_A_TOPIC more."""


def group_hash(topic_names: Iterable[str], topics: GroupTopics) -> int:
    """The hash of the topics that exist among the names, as a signed int64; 0 if none exists."""
    known = sorted(name for name in topic_names if topics.topic_id(name) is not None)
    if not known:
        return 0
    hashes = b"".join(_INT64.pack(_topic_hash(name, topics)) for name in known)
    return _hash(hashes)


def hash_topics(topic_names: Iterable[str], topics: GroupTopics) -> Steps[None]:
    """Computes and caches the hashes of these topics in steps, so that :func:`group_hash` finds them in the cache."""
    weight = 0
    for name in topic_names:
        topic_id = topics.topic_id(name)
        if topic_id is None or name in topics.hashes:
            continue
        weight += WEIGHT_OF_A_TOPIC + topics.partition_count(topic_id)
        if weight >= WEIGHT_A_STEP:
            yield
            weight = 0
        if topics.topic_id(name) is not None:
            _topic_hash(name, topics)


def _topic_hash(name: str, topics: GroupTopics) -> int:
    known = topics.hashes.get(name)
    if known is None:
        known = topics.hashes[name] = _hash(_topic_bytes(name, topics))
    return known


def _topic_bytes(name: str, topics: GroupTopics) -> bytes:
    topic_id = topics.topic_id(name)
    assert topic_id is not None, f"{name} does not exist"
    count = topics.partition_count(topic_id)
    # Each half of the id is a little-endian long.
    parts = [_MAGIC, topic_id[7::-1], topic_id[:7:-1], _text(name), _INT32.pack(count)]
    if not topics.has_racks:
        parts.append(pack(f"<{count}i", *range(count)))
        return b"".join(parts)
    texts: dict[tuple[str, ...], bytes] = {}
    for index, racks in enumerate(topics.partition_racks(topic_id)):
        text = texts.get(racks)
        if text is None:
            text = texts[racks] = b"".join(map(_rack, racks))
        parts += (_INT32.pack(index), text)
    return b"".join(parts)


def _rack(rack: str) -> bytes:
    text = _text(rack)
    return text[-_INT32.size :] + text


def _text(text: str) -> bytes:
    units = text.encode("utf-16-le", "surrogatepass")
    return units + _INT32.pack(len(units) // 2)


def _hash(data: bytes) -> int:
    signed: int = _INT64.unpack(_HASH.pack(xxhash.xxh3_64_intdigest(data)))[0]
    return signed
