"""One partition's active segment is damaged after a clean stop. The other partitions are served."""

from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.testing.broker.in_process import InProcessBroker
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


class DamagedBroker:
    """A broker with four partitions of two batches each. The first one is damaged between a stop and a start."""

    def __init__(self, broker: InProcessBroker, damage: Callable[[bytearray], None]) -> None:
        self.asking = Asking(broker.port)
        assert self.asking.create("t", 1 + OTHERS) == 0
        for index in range(1 + OTHERS):
            for value in (b"a", b"b"):
                assert self.asking.produce("t", index, value) == 0
        broker.stop()
        [self.path] = (broker.log_dir / "t-0").glob("*.log")
        data = bytearray(self.path.read_bytes())
        damage(data)
        self.path.write_bytes(data)
        broker.start()

    def check_the_others(self) -> None:
        for index in range(1, 1 + OTHERS):
            assert self.asking.fetch("t", index) == (0, [b"a", b"b"])
            assert self.asking.produce("t", index, b"c") == 0
            assert self.asking.end_offset("t", index) == (0, 3)


CONFIGS = {"offsets.topic.num.partitions": "1", "odradek.fetch.check.crcs": "true"}


def test_a_flipped_bit_is_an_error_of_its_partition(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Only a reader finds it. Appends go after it."""
    with InProcessBroker(tmp_path, CONFIGS) as broker:
        one = DamagedBroker(broker, flip_last)
        assert one.asking.fetch("t", 0) == (ErrorCode.CORRUPT_MESSAGE, [])
        assert one.asking.end_offset("t", 0) == (0, 2)
        assert one.asking.produce("t", 0, b"c") == 0
        assert str(one.path) in caplog.text, "the log names the damaged file"
        one.check_the_others()


@pytest.mark.parametrize(
    ("damage", "kept"), [(flip_length, [b"a"]), (cut_last, [b"a"]), (zero_last, [b"a"]), (zero_all, [])]
)
def test_a_torn_tail_is_recovered_as_after_a_kill(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[bytearray], None], kept: list[bytes]
) -> None:
    with InProcessBroker(tmp_path, CONFIGS) as broker:
        one = DamagedBroker(broker, damage)
        assert one.asking.fetch("t", 0) == (0, kept)
        assert one.asking.end_offset("t", 0) == (0, len(kept))
        assert one.asking.produce("t", 0, b"c") == 0
        assert one.asking.fetch("t", 0) == (0, [*kept, b"c"])
        assert f"{one.path}: damaged at byte" in caplog.text, "the log names the damaged file"
        one.check_the_others()
