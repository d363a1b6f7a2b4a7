"""Python's garbage collector, while a producer is measured.

A producer that sends as fast as it can has thousands of batches queued. The collector looks at them all again and
again, a tenth of the processor time, and finds nothing: the client leaves no cycles when it works. So it runs only
after more objects than a full queue has.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 200_000
"""New objects until a collection: several times those of a full queue with the default ``buffer.memory``."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Inside the block, garbage is collected after ``OBJECTS`` new objects."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(OBJECTS, middle, old)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
