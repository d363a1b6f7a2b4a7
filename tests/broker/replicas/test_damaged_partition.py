"""One partition's active segment is damaged after a clean stop. It returns an error, the others are served."""

from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.testing.in_process import InProcessBroker
from support.brokers.asking import Asking

OTHERS = 3


def flip_last(data: bytearray) -> None:
    data[-1] ^= 1


def flip_length(data: bytearray) -> None:
    """Damages the length of the last of two equally long batches."""
    data[len(data) // 2 + 8] ^= 0x40


def cut_last(data: bytearray) -> None:
    del data[-5:]


def zero_last(data: bytearray) -> None:
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)


def zero_all(data: bytearray) -> None:
    data[:] = bytes(len(data))


@pytest.mark.parametrize("damage", [flip_last, flip_length, cut_last, zero_last, zero_all])
def test_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytearray], None]
) -> None:
    with InProcessBroker(tmp_path, {"offsets.topic.num.partitions": "1", "odradek.fetch.check.crcs": "true"}) as broker:
        asking = Asking(broker.port)
        assert asking.create("t", 1 + OTHERS) == 0
        for index in range(1 + OTHERS):
            for value in (b"a", b"b"):
                assert asking.produce("t", index, value) == 0
        broker.stop()
        [path] = (broker.log_dir / "t-0").glob("*.log")
        data = bytearray(path.read_bytes())
        damage(data)
        path.write_bytes(data)
        broker.start()
        whole = damage is flip_last  # only a reader finds it, because appends go after it
        assert asking.fetch("t", 0) == (ErrorCode.CORRUPT_MESSAGE, [])
        assert asking.end_offset("t", 0) == ((0, 2) if whole else (ErrorCode.CORRUPT_MESSAGE, -1))
        assert asking.produce("t", 0, b"c") == (0 if whole else ErrorCode.CORRUPT_MESSAGE)
        assert str(path) in caplog.text, "the log names the damaged file"
        for index in range(1, 1 + OTHERS):
            assert asking.fetch("t", index) == (0, [b"a", b"b"])
            assert asking.produce("t", index, b"c") == 0
            assert asking.end_offset("t", index) == (0, 3)
