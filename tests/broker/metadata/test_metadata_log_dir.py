"""``metadata.log.dir``: the metadata log in one of the log directories, or in a directory of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.server.broker_server import BrokerServer
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.storage.errors import DirectoryLockedError
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties
from support.brokers.metadata_images import Topic
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka

METADATA = "__cluster_metadata-0"


def run(work: Callable[[BrokerServer], Awaitable[None]], *overrides: str, kill: bool = False) -> None:
    """Starts a broker, uses it, and stops or kills it."""

    async def body() -> None:
        keys = ["node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", "offsets.topic.num.partitions=1", *overrides]
        server = BrokerServer(ServerConfig.load(None, keys, {}))
        await server.start()
        try:
            await work(server)
        finally:
            await (server.crash() if kill else server.stop())

    asyncio.run(body())


async def create(server: BrokerServer) -> None:
    metadata, controller = server.broker.own_metadata, server.broker.controller
    request = CreateTopicsRequest([Topic("t", 2, 1)])
    response = run_to_end(
        metadata.carry_out(run_to_end(create_topics(metadata.image, request, controller)), 1_795_000_000_000)
    )
    assert not response.topics[0].error_code


def directory_id(path: Path) -> bytes:
    meta = read_meta_properties(Files(), path)
    assert meta is not None
    return meta.directory_id


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_own_directory_has_the_metadata_and_nothing_else(tmp_path: Path, kill: bool) -> None:
    keys = (f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}", f"metadata.log.dir={tmp_path / 'm'}")
    run(create, *keys, kill=kill)

    async def look(server: BrokerServer) -> None:
        image = server.broker.metadata.image
        partition = image.partition("t", 0)
        assert partition is not None
        assert (partition.leader, partition.isr) == (1, (1,))
        data = {directory_id(tmp_path / name) for name in "ab"}
        assert set(image.brokers[1].directories) == data
        assert set(partition.directories) <= data
        assert server.broker.metadata.directory_id == directory_id(tmp_path / "m")
        assert len({*data, directory_id(tmp_path / "m")}) == 3

    run(look, *keys)
    assert sorted(path.name for path in (tmp_path / "m").iterdir() if path.is_dir()) == [METADATA]
    assert not (tmp_path / "m" / ".kafka_cleanshutdown").exists()
    for name in "ab":
        assert not (tmp_path / name / METADATA).exists()
        assert (tmp_path / name / ".kafka_cleanshutdown").exists()


def test_any_of_the_log_directories_may_have_the_metadata(tmp_path: Path) -> None:
    keys = (f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}", f"metadata.log.dir={tmp_path / 'b'}")
    run(create, *keys)

    async def look(server: BrokerServer) -> None:
        assert server.broker.metadata.image.partition("t", 1) is not None
        assert server.broker.metadata.directory_id == directory_id(tmp_path / "b")

    run(look, *keys)
    assert (tmp_path / "b" / METADATA).is_dir()
    assert not (tmp_path / "a" / METADATA).exists()


def test_own_directory_is_locked_while_a_broker_has_it(tmp_path: Path) -> None:
    metadata = f"metadata.log.dir={tmp_path / 'm'}"

    async def second(server: BrokerServer) -> None:
        keys = ["node.id=1", "listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path / 'b'}", metadata]
        with pytest.raises(DirectoryLockedError):
            await BrokerServer(ServerConfig.load(None, keys, {})).start()

    run(second, f"log.dirs={tmp_path / 'a'}", metadata)
    run(create, f"log.dirs={tmp_path / 'a'}", metadata)


@pytest.mark.ci
@pytest.mark.java
def test_real_kafka_finds_the_metadata_in_its_own_directory(tmp_path: Path) -> None:
    java_or_skip()
    metadata = {"metadata.log.dir": str(tmp_path / "m")}
    run(create, f"log.dirs={tmp_path / 'logs'}", f"metadata.log.dir={tmp_path / 'm'}")
    with RealKafka(tmp_path, metadata) as kafka:
        servers = ("--bootstrap-server", kafka.bootstrap_servers)
        described = kafka.run_tool("org.apache.kafka.tools.TopicCommand", *servers, "--describe", "--topic", "t")
        assert described.stdout.count("Leader: 1") == 2, described.stdout + described.stderr

    async def look(server: BrokerServer) -> None:
        assert server.broker.metadata.image.partition("t", 1) is not None

    run(look, f"log.dirs={tmp_path / 'logs'}", f"metadata.log.dir={tmp_path / 'm'}")
