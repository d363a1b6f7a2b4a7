"""One target assignment that is being computed in steps. Pure: :mod:`.large_assignments` takes the steps."""

from ....protocol.steps import Steps
from ..records import CoordinatorRecord
from .group import ConsumerGroup


class AssignmentComputation:
    """A target assignment that was asked for at ``asked_ms`` (wall clock), and its steps once it has begun."""

    __slots__ = ("asked_ms", "group", "steps")

    def __init__(self, asked_ms: int) -> None:
        self.asked_ms = asked_ms
        self.group: ConsumerGroup | None = None
        self.steps: Steps[list[CoordinatorRecord]] | None = None
