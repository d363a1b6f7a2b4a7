"""The limit of open files of this process: every connection and every open segment takes of it.

Owns: raising the limit. Never does: closing anything.
"""

import sys


def raise_descriptor_limit() -> None:
    """Lifts the soft limit of open files to the hard one: every partition holds at least one descriptor."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
