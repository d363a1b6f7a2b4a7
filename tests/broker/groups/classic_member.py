"""A member of a classic group in the simulator."""

from dataclasses import dataclass, field


@dataclass
class Member:
    """A consumer, with at most one request in flight and one step at a time."""

    name: str
    group_id: str
    version: int
    instance_id: str | None = None
    alive: bool = False
    incarnation: int = 0
    member_id: str = ""
    generation_id: int = -1
    waiting: bool = False
    must_sync: bool = False
    in_generation: bool = False
    leads: list[str] | None = None
    partitions: list[int] = field(default_factory=list)
    last_heartbeat_ms: int = 0

    def start_over(self) -> None:
        self.member_id = ""
        self.join_again()

    def join_again(self) -> None:
        self.in_generation = False
        self.must_sync = False
        self.partitions = []
