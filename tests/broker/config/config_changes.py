"""Starts brokers on one directory, one after another, and changes their configs with requests."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.configs import alter_configs, incremental_alter_configs
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import ResourceType
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from support.brokers.metadata_images import Topic

Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
Change = IncrementalAlterConfigsRequest.AlterableConfig
NOW_MS = 1_795_000_000_000
SET = 0


def run(tmp_path: Path, *works: Callable[[BrokerServer], Awaitable[None]], kill: bool = False) -> None:
    """Starts a broker for each function, one after another, on the same directory."""

    async def body(work: Callable[[BrokerServer], Awaitable[None]]) -> None:
        keys = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path / 'logs'}", "offsets.topic.num.partitions=1"]
        server = BrokerServer(ServerConfig.load(None, keys, {}))
        await server.start()
        try:
            await work(server)
        finally:
            await (server.crash() if kill else server.stop())

    for work in works:
        asyncio.run(body(work))


def alter(
    server: BrokerServer, configs: dict[str, str], name: str = "1", kind: ResourceType = ResourceType.BROKER
) -> tuple[ErrorCode, str | None]:
    """Sends IncrementalAlterConfigs and returns the answer for the broker."""
    metadata = server.broker.own_metadata
    changes = [Change(key, SET, text) for key, text in configs.items()]
    request = IncrementalAlterConfigsRequest([Resource(kind, name, changes)])
    decision = run_to_end(incremental_alter_configs(metadata.image, request, server.broker.controller))
    (answer,) = run_to_end(metadata.carry_out(decision, NOW_MS)).responses
    return ErrorCode(answer.error_code), answer.error_message


def replace(server: BrokerServer, configs: dict[str, str]) -> tuple[ErrorCode, str | None]:
    """Sends AlterConfigs, the older API, and returns the answer for the broker."""
    metadata = server.broker.own_metadata
    resource = AlterConfigsRequest.AlterConfigsResource
    changes = [AlterConfigsRequest.AlterableConfig(key, text) for key, text in configs.items()]
    request = AlterConfigsRequest([resource(ResourceType.BROKER, "1", changes)])
    decision = run_to_end(alter_configs(metadata.image, request, server.broker.controller))
    (answer,) = run_to_end(metadata.carry_out(decision, NOW_MS)).responses
    return ErrorCode(answer.error_code), answer.error_message


async def create(server: BrokerServer) -> None:
    """Creates a topic t with one partition."""
    metadata = server.broker.own_metadata
    request = CreateTopicsRequest([Topic("t", 1, 1)])
    run_to_end(metadata.carry_out(run_to_end(create_topics(metadata.image, request, server.broker.controller)), 1))
