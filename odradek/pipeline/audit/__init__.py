"""The audit of log directories: `odradek audit`, and for a notebook `audit`, which is imported at its first use."""

from typing import TYPE_CHECKING

# By full names: mypy also meets this file under a package of tests/.
from odradek.protocol.common.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from odradek.pipeline.audit.frames import AuditFrames, audit
else:
    __getattr__ = lazy_exports(__name__, {"AuditFrames": "frames", "audit": "frames"})

__all__ = ["AuditFrames", "audit"]
