"""Message formats 0 and 1: what the audit finds in them beside what it finds in batches."""

import shutil
import struct
from pathlib import Path

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from support.data import old_formats

ATTRIBUTES = 17
"""The position of the attributes in a message."""


@pytest.mark.parametrize("topic", ["f0-lz4-create", "f0-gzip-create"])
def test_a_wrapper_has_the_offset_of_its_last_message(tmp_path: Path, topic: str) -> None:
    """The CRC of a message does not cover its offset. Kafka's consumer goes on after that of the wrapper."""
    root = tmp_path / "logs"
    shutil.copytree(old_formats.unpack(tmp_path / "all") / f"{topic}-0", root / "t-0")
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    (root / "meta.properties").write_text("version=1\n")
    log = min((root / "t-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    position = 0
    while not data[position + ATTRIBUTES] & 7:  # not compressed
        position += 12 + struct.unpack_from(">i", data, position + 8)[0]
    (offset,) = struct.unpack_from(">q", data, position)
    struct.pack_into(">q", data, position, offset + 3)
    log.write_bytes(data)
    found = {(one.name, one.position) for one in audit_directories([root], LOCAL).findings}
    assert ("record-offsets-invalid", position) in found
