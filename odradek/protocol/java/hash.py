"""Java's hash codes, and the order in which a Java HashMap iterates over strings. Kafka's answers depend on both.

Pure. Owns: ``String.hashCode``, the bucket rule of ``HashMap``, and that of Kafka's ``TimelineHashMap``. Never does:
I/O. Invariant: keys in the same bucket stay in the order of insertion, also when the map grows. Source:
``java.lang.String``, ``java.util.HashMap`` (16 buckets, load factor 0.75), Kafka's ``BaseHashTable``.
"""

from collections.abc import Iterable, Sequence

from ..common.steps import Steps, run_to_end

INITIAL_BUCKETS = 16
_FIBONACCI = -7046029254386353131
HASHES_A_STEP = 128
"""Names hashed in one step; each takes about 5 us."""


def java_hash_code(text: str) -> int:
    """``String.hashCode`` of Java: over UTF-16 code units, as a signed 32-bit number."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for index in range(0, len(units), 2):
        code = (31 * code + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    return code - 0x1_0000_0000 if code >= 0x8000_0000 else code


def hash_bucket(hash_code: int, buckets: int) -> int:
    """The bucket of a hash code in a ``HashMap`` of ``buckets`` buckets (a power of two)."""
    code = hash_code & 0xFFFFFFFF
    return (code ^ code >> 16) & buckets - 1


def grown_buckets(buckets: int, size: int) -> int:
    """The number of buckets of a ``HashMap`` that began with ``buckets`` and holds ``size`` keys."""
    while size > buckets * 3 // 4:
        buckets *= 2
    return buckets


def in_hash_map_order(names: Iterable[str]) -> list[str]:
    """The names without duplicates, in the order in which a ``HashMap`` iterates that they were put into."""
    return run_to_end(hash_map_order_steps(names))


def hash_map_order_steps(names: Iterable[str], buckets: int | None = None) -> Steps[list[str]]:
    """:func:`in_hash_map_order` as a generator, for many names (:mod:`..common.steps`). ``buckets``: the number of
    buckets that the map has at last, if it did not grow as usual."""
    put = list(dict.fromkeys(names))
    buckets = buckets or grown_buckets(INITIAL_BUCKETS, len(put))
    places: list[int] = []
    for start in range(0, len(put), HASHES_A_STEP):
        places += [hash_bucket(java_hash_code(name), buckets) for name in put[start : start + HASHES_A_STEP]]
        yield
    return [put[at] for at in sorted(range(len(put)), key=places.__getitem__)]


def compute_if_absent_order_steps(names: Sequence[str], capacity: int) -> Steps[list[str]]:
    """The names without duplicates, in the order of a ``HashMap`` with an initial capacity, on which
    ``computeIfAbsent`` was called for each name in turn. That method puts a new key before the others of its bucket,
    and lets the map grow at its next call."""
    buckets = 1
    while buckets < capacity:
        buckets *= 2
    return (
        yield from hash_map_order_steps(reversed(dict.fromkeys(names)), grown_buckets(buckets, len(set(names[:-1]))))
    )


def timeline_map_order_steps(names: Iterable[str]) -> Steps[list[str]]:
    """The names in the order in which a ``TimelineHashMap`` iterates that they were put into, each at least twice, as a
    generator. A map that had more names before may have another order."""
    put = list(dict.fromkeys(names))[::-1]
    bits = 1
    while (len(put) + 1) * 0.75 > 1 << bits:
        bits += 1
    places: list[int] = []
    for start in range(0, len(put), HASHES_A_STEP):
        codes = map(java_hash_code, put[start : start + HASHES_A_STEP])
        places += [(code * _FIBONACCI & 0xFFFFFFFF_FFFFFFFF) >> (64 - bits) for code in codes]
        yield
    return [put[at] for at in sorted(range(len(put)), key=places.__getitem__)]
