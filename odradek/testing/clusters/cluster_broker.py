"""One broker of a test cluster: an in-process broker that joins a controller.

Owns: what a cluster adds to :class:`..broker.in_process.InProcessBroker`. Never does: a start before
:meth:`ClusterBroker.join`.
"""

import threading
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.server.random_ids import random_uuid
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import META_PROPERTIES, MetaProperties, write_meta_properties

from ..broker.broker_thread import HowToEnd
from ..broker.config_values import ConfigValue
from ..broker.in_process import InProcessBroker
from .cluster_state import ClusterState
from .links import Links, NodeLoop


class ClusterBroker(InProcessBroker):
    """A broker that can also be cut off from others (:meth:`KafkaCluster.partition`)."""

    def __init__(
        self, directory: Path, node_id: int, configs: Mapping[str, str], links: Links, state: ClusterState
    ) -> None:
        self.node_id = node_id
        """``node.id``, and its index in :attr:`KafkaCluster.brokers`."""
        own = {"process.roles": "broker", "node.id": str(node_id), "controller.listener.names": "CONTROLLER"}
        super().__init__(directory, {**configs, **own}, new_loop=partial(NodeLoop, links, node_id))
        self._state = state

    def join(self, cluster_id: str, voters: str) -> None:
        """Formats the directory for a cluster if it is new, and sets the address of the controller."""
        self._configs["controller.quorum.voters"] = voters
        if not (self.log_dir / META_PROPERTIES).exists():
            self.log_dir.mkdir(parents=True, exist_ok=True)
            write_meta_properties(Files(), self.log_dir, MetaProperties(cluster_id, self.node_id, random_uuid()))

    @property
    def image(self) -> MetadataImage | None:
        """The metadata that the broker has; None if it does not run or is paused, since it then learns no changes."""
        running = self._running
        return None if running is None or running.is_paused else running.server.broker.metadata.image

    def start(self) -> None:
        """Starts it, see :meth:`InProcessBroker.start`. After :meth:`kill` the start takes until the old session ends
        (``broker.session.timeout.ms``), because the controller refuses the registration before.
        """
        super().start()
        running = self._running
        assert running is not None
        running.call_soon(lambda: running.server.broker.metadata.subscribe(self._state.changed))
        self._state.look_again()

    def drop_cut_connections(self) -> None:
        """Closes the connections to nodes that are cut off. A paused broker closes them when it continues."""
        with self._turn:
            running = self._running
            if running is not None:
                assert isinstance(running.loop, NodeLoop)
                dropped = threading.Event()
                running.call_soon(partial(running.loop.drop_cut, dropped))
                if not running.is_paused:
                    dropped.wait()

    def reset(self, configs: Mapping[str, ConfigValue] | None = None, *, new_port: bool = False) -> None:
        """Always raises TypeError: one broker of a cluster can't be emptied alone. Make another cluster instead."""
        raise TypeError("a broker of a cluster can't be reset alone; make another cluster")

    def pause(self) -> None:
        """Freezes the broker until ``resume``, as SIGSTOP does (:meth:`InProcessBroker.pause`)."""
        super().pause()
        self._state.look_again()

    def _end(self, how: HowToEnd) -> None:
        super()._end(how)
        self._state.look_again()
