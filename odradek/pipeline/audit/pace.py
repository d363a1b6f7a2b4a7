"""The pace of the local workers of an audit: each reads its share of what `--throttle` allows.

Pure but for the given pace of this process.
"""

from collections.abc import Callable
from functools import partial

from ..directories.background_reading import READING, read_in_background
from ..engine.engines import available_cores


def begin_of_workers() -> Callable[[], None] | None:
    """What a worker calls first, so that all together keep the pace of this process; None at full speed."""
    reading = READING.get()
    return None if reading is None else partial(read_in_background, reading.bytes_per_second / available_cores())
