"""The addresses of the controllers, and which of them is active as far as this broker knows.

Pure. Owns: the addresses of the configuration, the leader and its epoch. Never does: I/O. Invariants: the leader epoch
never goes back; a leader that hangs is not asked again for a while, even if a standby still names it. Source:
KafkaRaftClient (``QuorumState``, ``LeaderAndEpoch``), RaftControllerNodeProvider.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ...config.server_config import ServerConfig
from ...network.node_client import PLAINTEXT, NodeSecurity

NO_LEADER = -1
DOUBTS = 20
"""The number of attempts at other controllers before a leader that hung is asked again. They take at least a second."""


class Address(NamedTuple):
    """Host and port of a controller's listener."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parses ``host:port``; an IPv6 address may stand in brackets."""
        host, _, port = text.strip().rpartition(":")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


class KnownControllers:
    """The controllers that this broker may ask, and the active one."""

    def __init__(
        self, bootstrap: Iterable[Address], voters: dict[int, Address], security: NodeSecurity = PLAINTEXT
    ) -> None:
        """``voters``: node id -> address, from ``controller.quorum.voters``; empty if that is not set."""
        self.security = security
        """The security settings of every connection to the controllers."""
        self._bootstrap = tuple(dict.fromkeys([*bootstrap, *voters.values()]))
        self._addresses = dict(voters)
        self._next = 0
        self._silent: Address | None = None
        """A controller that hung; None after it answers, a newer leader epoch, or :data:`DOUBTS` attempts."""
        self._doubts = 0
        self._problems: dict[Address, str] = {}
        """The last problem of each controller since the metadata arrived."""
        self.leader_id = NO_LEADER
        self.leader_epoch = 0

    @classmethod
    def of(cls, config: ServerConfig, security: NodeSecurity = PLAINTEXT) -> "KnownControllers":
        """The controllers in ``controller.quorum.voters`` or ``controller.quorum.bootstrap.servers``."""
        voters = {}
        for entry in config.get_list("controller.quorum.voters"):
            node_id, _, address = entry.partition("@")
            voters[int(node_id)] = Address.parse(address)
        return cls(map(Address.parse, config.get_list("controller.quorum.bootstrap.servers")), voters, security)

    @property
    def active(self) -> Address | None:
        """The address of the active controller, None if it is not known."""
        return self._addresses.get(self.leader_id)

    @property
    def presumed(self) -> Address | None:
        """The active controller. Before the first leader is known: the configured controller, if there is only one, so
        that the registration need not wait for the metadata."""
        if self.leader_epoch == 0 and len(self._bootstrap) == 1:
            return self._bootstrap[0]
        return self.active

    def any(self) -> Address:
        """The active controller; while it is not known, each configured one in turn, without the one that hangs."""
        turn = self._next % len(self._bootstrap)
        in_turn = [*self._bootstrap[turn:], *self._bootstrap[:turn]]
        return self.active or next((address for address in in_turn if address != self._silent), in_turn[0])

    def take_leader(self, leader_id: int, leader_epoch: int, said_by: Address | None = None) -> bool:
        """Notes the leader that a controller names (-1: none now). Returns whether that is news."""
        if said_by == self._silent or leader_epoch > self.leader_epoch:
            self._silent = None
        if self._silent is not None and self._addresses.get(leader_id) == self._silent:
            self._doubt()
            return False
        if leader_epoch < self.leader_epoch or (leader_id, leader_epoch) == (self.leader_id, self.leader_epoch):
            return False
        if leader_epoch == self.leader_epoch and leader_id == NO_LEADER:
            return False
        self.leader_id, self.leader_epoch = leader_id, leader_epoch
        return True

    def take_address(self, node_id: int, address: Address) -> None:
        """Notes the address of a controller, as a response gives it."""
        self._addresses[node_id] = address

    def failed(self, address: Address) -> None:
        """Tries the next controller, because this one did not answer or has stopped being active."""
        if address == self.active:
            self.leader_id = NO_LEADER
        self._next += 1
        self._doubt()

    def silent(self, address: Address) -> None:
        """As :meth:`failed`, for a controller that hangs: each attempt costs a timeout, and standbys name it as the
        leader until they have elected another one."""
        self.failed(address)
        self._silent, self._doubts = address, 0

    def has_problem(self, address: Address, problem: str) -> None:
        """Notes why a controller has sent no metadata: its answer, or the error of the connection."""
        self._problems[address] = problem

    def has_sent_metadata(self) -> None:
        """Forgets the problems: the metadata arrives."""
        self._problems.clear()

    @property
    def problems(self) -> str:
        """What is known of each controller that was asked since the metadata has arrived."""
        return "; ".join(self._problems.values())

    def _doubt(self) -> None:
        self._doubts += 1
        if self._doubts >= DOUBTS:
            self._silent = None

    def __str__(self) -> str:
        return ", ".join(map(str, self._bootstrap))
