"""Changes a log directory at the moment when a job opens one of its files.

with changed_while_read(segment, lambda: directory.unlink()):
    audit(...)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.pipeline.directories import file_access


@contextmanager
def changed_while_read(path: Path, change: Callable[[], object], *, times: int = 1) -> Iterator[list[Path]]:
    """Calls `change` before each of the first `times` opens of `path`; yields the opened paths in order."""
    opened: list[Path] = []
    inner: Callable[..., int] = vars(file_access)["open_regular"]  # the real one, or that of a change around this one

    def opening(asked: Path, *, follows_links: bool) -> int:
        opened.append(asked)
        if asked == path and opened.count(path) <= times:
            change()
        return inner(asked, follows_links=follows_links)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_access, "open_regular", opening)
        yield opened
