"""Log directories as Kafka's tool formats them, without a JVM for each: that costs 0.7 s of processor time.

The tool formats one directory for each release and set of features, which stays in the cache of the tests. A copy gets
a directory id and a controller's port of its own, in ``meta.properties`` and in the record of the voters.
"""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from odradek.broker.server.random_ids import random_uuid
from odradek.protocol.records.batch import CRC_POSITION, UINT32, crc_of, iterate_headers
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from support.kafka.java import kafka_libs, locked

HOST = b"127.0.0.1"
"""The host of the controller's listener, before its port in the record of the voters."""


def formatted(log_dir: Path, version: str, how: Sequence[str], port: int, by_tool: Callable[[], None]) -> None:
    """Formats a new directory. ``how``: all that decides about the files. ``by_tool`` lets Kafka's tool do it."""
    cache = kafka_libs(version).parent / "formatted"
    cache.mkdir(exist_ok=True)
    kept = cache / hashlib.sha256("\0".join(how).encode()).hexdigest()[:16]
    with locked(cache):
        if not kept.exists():
            by_tool()
            part = Path(shutil.copytree(log_dir, kept.with_suffix(".part"), dirs_exist_ok=True))
            part.rename(kept)
            return
    shutil.copytree(kept, log_dir, dirs_exist_ok=True)
    former = read_meta_properties(Files(), log_dir)
    assert former is not None
    if not former.directory_id:  # before Kafka 3.7, and then there are no voters in a snapshot
        return
    own = random_uuid()
    (log_dir / META_PROPERTIES).unlink()
    write_meta_properties(Files(), log_dir, MetaProperties(former.cluster_id, former.node_id, own))
    for path in log_dir.rglob("*.checkpoint"):
        path.write_bytes(moved(path.read_bytes(), former.directory_id, own, port))


def moved(snapshot: bytes, former: bytes, own: bytes, port: int) -> bytes:
    """A snapshot with the directory id and the port of another voter, if it has a voter."""
    data = bytearray(snapshot.replace(former, own))
    place = data.find(HOST)
    if place >= 0:
        data[place + len(HOST) : place + len(HOST) + 2] = port.to_bytes(2, "big")
    for position, header in iterate_headers(data):
        UINT32.pack_into(data, position + CRC_POSITION, crc_of(data, position, header))
    return bytes(data)
