"""Passes a secret to a library that reads only files, without writing it to a disk (on Linux).

``ssl`` can load keys only from paths. On Linux the file is in memory (memfd_create), with a path in ``/proc``. On other
systems, such as macOS, it is a file in a directory that only this user can read, and is removed as soon as the library
has read it; the secret may remain in free blocks of that disk.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """The path of a file with this content, valid inside the block."""
    if sys.platform == "linux" and hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("odradek", os.MFD_CLOEXEC)
        try:
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    directory = tempfile.mkdtemp()
    try:
        path = Path(directory) / "secret"
        path.touch(mode=0o600)
        path.write_bytes(content)
        yield str(path)
    finally:
        shutil.rmtree(directory)
