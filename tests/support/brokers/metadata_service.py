"""A metadata service on a directory, without the rest of a broker, for tests."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.config.topic_config import log_config_for
from odradek.broker.metadata.controller.broker_lifecycle import BrokerLifecycle
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.storage.directory.log_directory import LogDirectory
from support.brokers.metadata_images import ENDPOINT, NODE_ID

NOW_MS = 1_795_000_000_000


def controller_of(*overrides: str, node_id: int = NODE_ID) -> Controller:
    """The controller of a service that was opened with these overrides. It assigns random ids."""
    config = ServerConfig.load(None, [f"node.id={node_id}", *overrides], {})
    return Controller(node_id, config, lambda: uuid.uuid4().bytes)


@contextlib.contextmanager
def open_service(
    path: Path, *overrides: str, now_ms: int = NOW_MS, node_id: int = NODE_ID, crash: bool = False
) -> Iterator[MetadataService]:
    """A started service. At the end of the block it is stopped, or with ``crash`` killed."""
    controller = controller_of(*overrides, node_id=node_id)
    config = controller.config
    directory = LogDirectory.open(path)
    try:
        directory_id = directory.meta.directory_id if directory.meta else b"directory id 123"
        service = MetadataService.open(
            directory,
            config,
            directory_id=directory_id,
            now_ms=now_ms,
            random_uuid=controller.random_uuid,
        )
        directory.load_logs(lambda topic: log_config_for(config, {}), now_ms)
        lifecycle = BrokerLifecycle(service, controller)
        clean_epoch = directory.previous_broker_epoch
        lifecycle.start([ENDPOINT], now_ms, directory_ids=[directory_id], clean_epoch=clean_epoch)
        yield service
        if not crash:
            lifecycle.stop(now_ms)
            directory.close(lifecycle.broker_epoch)
    finally:
        directory.abort()
