"""The broker and all that the image installs run on arm64, and on amd64 without any feature beyond the baseline.

Both are emulated, so the times say nothing.
"""

import signal
from pathlib import Path

import pytest

from support.docker.engine import EngineMissingError

from .container import Image
from .platforms import ROOT, Emulated, debian_root, emulator, exported, inside, installed, wheels

pytestmark = [pytest.mark.ci, pytest.mark.long]

ARM_V8_0 = "cortex-a53"
"""The first 64-bit cores of ARM: no atomics of ARMv8.1, no SVE."""
AMD64_V1 = "qemu64,-sse3,-cx16"
"""Nothing after SSE2."""
PURE = "-none-any.whl"

EXTENSIONS = """
import platform, crc32c, cramjam, re2, uvloop, xxhash
from cryptography.hazmat.primitives import hashes
assert crc32c.crc32c(b"123456789") == 0xE3069283
data = b"a record of a batch " * 5000
for codec in (cramjam.gzip, cramjam.snappy, cramjam.lz4, cramjam.zstd):
    assert bytes(codec.decompress(bytes(codec.compress(data)))) == data
assert re2.fullmatch("order-[0-9]+", "order-17") and not re2.fullmatch("order-[0-9]+", "order-")
assert xxhash.xxh64_hexdigest(b"") == "ef46db3751d8e999"
digest = hashes.Hash(hashes.SHA256())
digest.update(data)
assert len(digest.finalize()) == 32
uvloop.new_event_loop().close()
print(platform.machine())
"""
"""Uses each package with machine code once."""

INSTRUCTION = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("{}c3"))
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
print("done")
"""
"""Runs one instruction and returns."""
OF_THE_BASELINE = "660fefc0"
"""pxor xmm0, xmm0 (SSE2)."""
LATER = {
    "SSE3": "f20f7cc0",
    "SSSE3": "660f3800c0",
    "SSE4.1": "660f3817c0",
    "SSE4.2": "f20f38f1c0",
    "POPCNT": "f30fb8c0",
    "AVX2": "c5fdefc0",
}
"""One instruction of each extension of amd64 after the baseline, on registers only."""


@pytest.mark.parametrize("machine", ["aarch64", "x86_64"])
def test_all_that_the_image_installs_has_a_wheel(tmp_path: Path, machine: str) -> None:
    names = [file.name for file in wheels(machine, tmp_path)]
    assert {name.partition("-")[0] for name in names} >= {"uvloop", "cramjam", "crc32c", "google_re2", "cryptography"}
    assert all(name.endswith((PURE, f"_{machine}.whl")) for name in names), names


def test_arm64(tmp_path: Path) -> None:
    packages = installed(wheels("aarch64", tmp_path / "wheels"), tmp_path / "packages")
    try:
        root, qemu = debian_root("arm64", tmp_path / "root"), emulator("aarch64", ARM_V8_0)
    except EngineMissingError as error:
        pytest.skip(str(error))
    arm = Emulated(qemu, root, inside(root, "/usr/bin/python3"), (packages, ROOT))
    assert_serves(arm, "aarch64", tmp_path)


def test_amd64_without_features_beyond_the_baseline(image: Image, tmp_path: Path) -> None:
    """The image's own files. One instruction of each later extension shows that the emulated processor lacks it."""
    try:
        qemu = emulator("x86_64", AMD64_V1)
    except EngineMissingError as error:
        pytest.skip(str(error))
    root = exported(image.engine, image.tag, tmp_path / "root")
    packages = root / "opt/odradek/lib/python3.11/site-packages"
    oldest = Emulated(qemu, root, inside(root, "/opt/odradek/bin/python"), (packages,))
    assert oldest.run(INSTRUCTION.format(OF_THE_BASELINE)).stdout == "done\n"
    for extension, code in LATER.items():
        assert oldest.run(INSTRUCTION.format(code)).returncode == -signal.SIGILL, extension
    assert_serves(oldest, "x86_64", tmp_path)


def assert_serves(python: Emulated, machine: str, directory: Path) -> None:
    """Everything with machine code works, and a broker serves our own client, which runs without emulation."""
    done = python.run(EXTENSIONS)
    assert done.stdout.strip() == machine, done.stderr
    with python.serve(directory) as broker:
        broker.create_topic("orders", partitions=2)
        values = [f"value {number}" for number in range(100)]
        assert len(broker.produce("orders", *values)) == 100
        assert sorted(record.value or b"" for record in broker.consume("orders", 100)) == sorted(
            map(str.encode, values)
        )
