"""Lets the C library keep the memory of large requests, instead of giving it back to the system after each.

Owns: nothing; one call at the start of ``odradek serve``. Never does: holding memory itself.

glibc gives free memory at the top of its heap back to the system if it is more than M_TRIM_THRESHOLD. This is 128 KiB
at first. When a mapped block is freed, glibc raises two thresholds: only blocks of at least that size are mapped
(M_MMAP_THRESHOLD), and M_TRIM_THRESHOLD becomes twice the block's size (mallopt(3), "dynamic mmap threshold"). With
Produce requests of 1 MiB the threshold is thus 2 MiB, but a producer has five of them in flight. So the memory of most
requests went back and came again page by page: 24,000 minor page faults for 200 requests of 1 MB in flight by fives, 0
to 350 with this call. The system time of a producer with such requests was twice as high, its throughput 20 % lower.

With another C library the call allocates and frees one block.
"""

KEPT_BYTES = 4 << 20
"""Blocks up to this size come from the heap, and twice as much free memory may stay at its top. Buffers of larger
frames are mapped in any case (``protocol/framing/frames.py``)."""


def keep_freed_memory() -> None:
    """Raises both thresholds of this process. The block is mapped and never touched, so it costs no memory."""
    bytes(KEPT_BYTES)
