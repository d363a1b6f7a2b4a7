"""The four compression types: framings, levels, bytes after a stream, and limits that no declared size can exceed."""

import gzip
import os
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import cramjam
import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records import lz4_codec, snappy_codec
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import (
    COMPRESSION_NAMES,
    CompressionType,
    compress,
    compression_name,
    compression_type_of,
    decompress,
)
from odradek.protocol.records.errors import InvalidRecordError, RecordTooLargeError
from odradek.protocol.records.record import Record, decode_records

COMPRESSED = [t for t in CompressionType if t != CompressionType.NONE]
LEVELS = {CompressionType.GZIP: (-1, 1, 9), CompressionType.LZ4: (1, 9, 10, 17), CompressionType.ZSTD: (-131072, 1, 22)}
WRONG_LEVELS = {CompressionType.GZIP: (-2, 0, 10), CompressionType.LZ4: (0, 18), CompressionType.ZSTD: (-131073, 23)}
SIZES = (0, 1, 100, 32 * 1024, 32 * 1024 + 1, 64 * 1024, 64 * 1024 + 1, 300_000)


def text(size: int) -> bytes:
    """Text that is compressible, but not extremely."""
    rng = random.Random(size)
    words = [rng.randbytes(4).hex().encode() for _ in range(500)]
    return b" ".join(rng.choices(words, k=size // 9 + 1))[:size]


@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize("make", [bytes, text, os.urandom])
def test_round_trip(compression: CompressionType, make: Callable[[int], bytes]) -> None:
    for size in SIZES:
        data = make(size)
        packed = compress(compression, data)
        assert decompress(compression, packed, size) == data
        assert compress(compression, bytearray(data)) == packed


@pytest.mark.parametrize("compression", COMPRESSED)
def test_levels_are_those_of_kafka(compression: CompressionType) -> None:
    data = text(200_000)
    sizes = set()
    for level in LEVELS.get(compression, ()):
        packed = compress(compression, data, level)
        sizes.add(len(packed))
        assert decompress(compression, packed, len(data)) == data
    assert len(sizes) >= len(LEVELS.get(compression, ())) - 1
    for level in WRONG_LEVELS.get(compression, ()):
        with pytest.raises(ValueError, match="compression level"):
            compress(compression, data, level)


def test_types_by_id() -> None:
    assert [compression_type_of(i).name for i in range(5)] == ["NONE", "GZIP", "SNAPPY", "LZ4", "ZSTD"]
    for type_id in (-1, 5, 7):
        with pytest.raises(InvalidRecordError):
            compression_type_of(type_id)


def test_names_by_id() -> None:
    assert COMPRESSION_NAMES == ("none", "gzip", "snappy", "lz4", "zstd")
    assert [compression_name(i) for i in (-1, 0, 4, 5, 7)] == [
        "unknown(-1)",
        "none",
        "zstd",
        "unknown(5)",
        "unknown(7)",
    ]


@pytest.mark.parametrize("compression", list(CompressionType))
def test_one_byte_beyond_the_limit_is_refused(compression: CompressionType) -> None:
    for size in (1, 1000, 70_000, 200_000):
        data = text(size)
        packed = compress(compression, data)
        assert decompress(compression, packed, size) == data
        with pytest.raises(RecordTooLargeError) as caught:
            decompress(compression, packed, size - 1)
        assert caught.value.error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("compression", COMPRESSED)
def test_a_bomb_costs_no_more_memory_than_the_limit(compression: CompressionType) -> None:
    bomb = compress(compression, bytes(50_000_000))
    decompress(compression, compress(compression, b"warm"), 100)
    tracemalloc.start()
    try:
        with pytest.raises(RecordTooLargeError):
            decompress(compression, bomb, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000 + 2 * len(bomb)


def claims() -> list[tuple[CompressionType, bytes]]:
    """Small inputs that declare gigabytes."""
    four_gigabytes = b"\xff\xff\xff\xff\x0f"
    framed = snappy_codec.MAGIC + struct.pack(">ii", 1, 1)
    lz4_start = lz4_codec.MAGIC + b"\x68\x70" + struct.pack("<Q", 2**40)
    lz4_start += bytes((lz4_codec._header_checksum(lz4_start[4:]),))
    zstd_frame = b"\x28\xb5\x2f\xfd" + b"\xc0\x88" + struct.pack("<Q", 2**40)  # declares window and content size
    return [
        (CompressionType.SNAPPY, four_gigabytes + b"\x00\x61"),
        (CompressionType.SNAPPY, framed + struct.pack(">i", 7) + four_gigabytes + b"\x00\x61"),
        (CompressionType.SNAPPY, framed + struct.pack(">i", 2**31 - 1) + b"\x01\x00\x61"),
        (CompressionType.LZ4, lz4_start + struct.pack("<I", 4 << 20) + b"\x10a"),
        (CompressionType.LZ4, lz4_start + struct.pack("<I", 2) + b"\x10a" + bytes(4)),
        (CompressionType.ZSTD, zstd_frame + b"\x0b\x00\x00a"),
        (CompressionType.GZIP, gzip.compress(b"a", mtime=0)[:-4] + b"\xff\xff\xff\xff"),  # no time: it is in the name
    ]


@pytest.mark.parametrize(("compression", "data"), claims())
def test_a_claimed_size_is_never_allocated(compression: CompressionType, data: bytes) -> None:
    decompress(compression, compress(compression, b"warm"), 100)
    tracemalloc.start()
    try:
        if (compression, data) == claims()[4]:  # declares a terabyte, has one byte: Kafka ignores the declared size
            assert decompress(compression, data, 1_000_000) == b"a"
        else:
            with pytest.raises((InvalidRecordError, RecordTooLargeError)):
                decompress(compression, data, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000


def test_bombs_and_claims_cost_no_resident_memory_in_the_native_codecs_either() -> None:
    """In its own process, by peak resident memory: tracemalloc does not see allocations of the codecs."""
    inputs = claims() + [(c, compress(c, bytes(200_000_000))) for c in COMPRESSED if c != CompressionType.SNAPPY]
    program = (
        "import ast, resource, sys\n"
        "from odradek.protocol.errors import KafkaError\n"
        "from odradek.protocol.records.compression import CompressionType, compress, decompress\n"
        "inputs = ast.literal_eval(sys.stdin.read())\n"
        "for t in CompressionType: decompress(t, compress(t, bytes(2_000_000)))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for t, data in inputs:\n"
        "    try: decompress(CompressionType(t), data, 2_000_000)\n"
        "    except KafkaError: pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    text_input = repr([(int(compression), data) for compression, data in inputs])
    done = subprocess.run([sys.executable, "-c", program], input=text_input, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 24 * 1024, "KiB more than before"


def test_gzip_members_follow_each_other_and_garbage_behind_them_is_ignored() -> None:
    first, second = gzip.compress(b"first "), gzip.compress(b"second")
    assert decompress(CompressionType.GZIP, first + second) == b"first second"
    assert decompress(CompressionType.GZIP, first + second + b"garbage" * 10) == b"first second"
    assert decompress(CompressionType.GZIP, first + second[:18]) == b"first "
    with pytest.raises(InvalidRecordError, match="ends inside a member"):
        decompress(CompressionType.GZIP, first + second[:-1])
    many = gzip.compress(b"") * 20_000 + first
    assert decompress(CompressionType.GZIP, many) == b"first "
    with pytest.raises(RecordTooLargeError):
        decompress(CompressionType.GZIP, first + second, 11)


def test_zstd_frames_follow_each_other() -> None:
    first, second = compress(CompressionType.ZSTD, b"first "), compress(CompressionType.ZSTD, b"second")
    skippable = b"\x50\x2a\x4d\x18" + struct.pack("<I", 3) + b"abc"
    assert decompress(CompressionType.ZSTD, first + skippable + second) == b"first second"
    assert decompress(CompressionType.ZSTD, b"") == b""
    for bad in (first + b"garbage", first + second[:-1]):
        with pytest.raises(InvalidRecordError):
            decompress(CompressionType.ZSTD, bad)


def test_lz4_is_written_as_kafka_writes_it() -> None:
    packed = compress(CompressionType.LZ4, b"a" * 100)
    assert packed[:7] == bytes.fromhex("04224d18604082")
    assert packed[-4:] == bytes(4)
    data = os.urandom(70_000)
    packed = compress(CompressionType.LZ4, data)
    assert packed[7:11] == struct.pack("<I", 0x80000000 | 65536)
    assert packed == packed[:7] + packed[7:11] + data[:65536] + struct.pack("<I", 0x80000000 | 4464) + data[
        65536:
    ] + bytes(4)


def test_lz4_frames_of_other_writers() -> None:
    data = text(5000)
    with_checksums = bytearray(cramjam.lz4.compress(data))  # linked blocks, block and content checksums
    with pytest.raises(InvalidRecordError, match="linked blocks"):
        decompress(CompressionType.LZ4, bytes(with_checksums))
    with_checksums[4] |= 0x20  # a single block has the same bytes as an independent one
    with_checksums[6] = lz4_codec._header_checksum(bytes(with_checksums[4:6]))
    assert decompress(CompressionType.LZ4, bytes(with_checksums) + b"ignored") == data
    with pytest.raises(RecordTooLargeError):
        decompress(CompressionType.LZ4, bytes(with_checksums), 4999)
    with_checksums[20] ^= 1
    with pytest.raises(InvalidRecordError):
        decompress(CompressionType.LZ4, bytes(with_checksums))


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, 5, "magic"),
        (4, 0xA0, "version"),
        (4, 0x61, "reserved"),
        (4, 0x40, "linked"),
        (5, 0x30, "block descriptor"),
        (5, 0x41, "block descriptor"),
        (5, 0xC0, "block descriptor"),
        (6, 0x83, "header checksum"),
    ],
)
def test_lz4_headers_that_kafka_refuses(position: int, value: int, message: str) -> None:
    packed = bytearray(compress(CompressionType.LZ4, b"data"))
    packed[position] = value
    with pytest.raises(InvalidRecordError, match=message):
        decompress(CompressionType.LZ4, bytes(packed))


def test_snappy_is_framed_as_snappy_java_does_and_bare_blocks_are_read() -> None:
    data = text(40_000)
    packed = compress(CompressionType.SNAPPY, data)
    assert packed[:16] == bytes.fromhex("82534e41505059000000000100000001")
    length = struct.unpack_from(">i", packed, 16)[0]
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + length])) == data[: 32 * 1024]
    bare = bytes(cramjam.snappy.compress_raw(data))
    assert decompress(CompressionType.SNAPPY, bare, len(data)) == data
    assert decompress(CompressionType.SNAPPY, packed + packed + b"abc") == data + data
    assert decompress(CompressionType.SNAPPY, packed[:8] + struct.pack(">ii", -1, 9) + packed[16:]) == data
    with pytest.raises(InvalidRecordError, match="inside a header"):
        decompress(CompressionType.SNAPPY, packed + packed[:15])
    for length in (-1, len(packed)):
        with pytest.raises(InvalidRecordError, match="snappy block of"):
            decompress(CompressionType.SNAPPY, packed[:16] + struct.pack(">i", length) + packed[20:])


@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize("seed", range(8))
def test_damage_gives_our_errors_only(compression: CompressionType, seed: int) -> None:
    """Truncated, mutated and random streams: an error of ours, or data within the limit."""
    rng = random.Random(seed)
    data = text(rng.choice((50, 3000, 70_000)))
    packed = compress(compression, data)
    for _ in range(150):
        kind = rng.randrange(3)
        if kind == 0:
            damaged = packed[: rng.randrange(len(packed))]
        elif kind == 1:
            mutated = bytearray(packed)
            for _ in range(rng.randrange(1, 4)):
                mutated[rng.randrange(min(len(mutated), rng.choice((30, len(mutated)))))] = rng.randrange(256)
            damaged = bytes(mutated)
        else:
            damaged = packed[: rng.randrange(12)] + rng.randbytes(rng.randrange(60))
        try:
            result = decompress(compression, damaged, 100_000)
        except (InvalidRecordError, RecordTooLargeError):
            continue
        assert len(result) <= 100_000


def test_the_limit_reaches_the_records() -> None:
    for compression in CompressionType:
        batch = encode_batch([Record(0, 0, None, bytes(10_000), [])], compression=compression)
        assert decode_records(batch, max_decompressed_size=11_000)
        with pytest.raises(RecordTooLargeError):
            decode_records(batch, max_decompressed_size=10_000)


def test_no_codec_is_loaded_before_it_is_used() -> None:
    program = (
        "import sys\n"
        "from odradek.protocol.records import batch, builder, control, record, validation\n"
        "data = builder.encode_batch([record.Record(0, 0, b'k', b'v', [])])\n"
        "header = record.read_header(data); batch.check_crc(data, 0, header); record.decode_records(data)\n"
        "print(sorted({'cramjam', 'construct'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
