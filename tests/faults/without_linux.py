"""A system without Linux's calls, for processes started with :func:`environment`: a model of macOS.

Python runs a ``sitecustomize`` before anything of ours is imported, so our modules see the system as it would be there:
no fdatasync and no posix_fallocate, an F_FULLFSYNC, and descriptors that setrlimit doesn't raise to "unlimited".
"""

import os
from pathlib import Path

CUSTOMIZE = """
import errno, fcntl, os, resource

for name in ("fdatasync", "posix_fallocate", "posix_fadvise", "memfd_create", "sched_getaffinity"):
    delattr(os, name)

real_fcntl, real_setrlimit, real_getrlimit = fcntl.fcntl, resource.setrlimit, resource.getrlimit
fcntl.F_FULLFSYNC = 51
synced = os.open({synced!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def full_sync(descriptor, command, argument=0):
    if command != fcntl.F_FULLFSYNC:
        return real_fcntl(descriptor, command, argument)
    if {refuses}:
        raise OSError(errno.ENOTSUP, "the model has no such command on this file system")
    os.write(synced, (os.readlink(f"/proc/self/fd/{{descriptor}}") + "\\n").encode())
    os.fsync(descriptor)
    return 0


def limited(kind, limits):
    if kind == resource.RLIMIT_NOFILE and (limits[0] == resource.RLIM_INFINITY or limits[0] > 10240):
        raise ValueError("not allowed to raise maximum limit")
    real_setrlimit(kind, (min(limits[0], real_getrlimit(kind)[1]), real_getrlimit(kind)[1]))


def unlimited(kind):
    soft, hard = real_getrlimit(kind)
    return (min(soft, 256), resource.RLIM_INFINITY) if kind == resource.RLIMIT_NOFILE else (soft, hard)


fcntl.fcntl, resource.setrlimit, resource.getrlimit = full_sync, limited, unlimited
"""


def environment(directory: Path, *, refuses_full_sync: bool = False) -> dict[str, str]:
    """This process's environment, with a Python in which only macOS's calls exist.

    ``directory`` gets the ``sitecustomize`` and ``synced``, the paths that F_FULLFSYNC was called for, one on a line.
    ``refuses_full_sync``: the file system is one that lacks it, such as a network share.
    """
    directory.mkdir()
    text = CUSTOMIZE.format(synced=str(directory / "synced"), refuses=refuses_full_sync)
    (directory / "sitecustomize.py").write_text(text)
    return {**os.environ, "PYTHONPATH": str(directory)}
