"""One target assignment that is being computed in steps. Pure. :mod:`.large_assignments` runs the steps."""

from odradek.protocol.common.steps import Steps

from ..records import CoordinatorRecord
from .group import ConsumerGroup


class AssignmentComputation:
    """A target assignment that was requested at ``asked_ms`` (wall clock, ms). ``group`` and ``steps`` are None until
    the computation begins."""

    __slots__ = ("asked_ms", "group", "steps")

    def __init__(self, asked_ms: int) -> None:
        self.asked_ms = asked_ms
        self.group: ConsumerGroup | None = None
        self.steps: Steps[list[CoordinatorRecord]] | None = None
