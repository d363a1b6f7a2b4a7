"""Clients that use what a cluster, or a broker alone, has. Each round has names of its own.

An injected exception may fail a request, so each step is tried until it succeeds.
"""

import asyncio
import contextlib
import logging
import ssl
import urllib.request
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.replicas.offset_searches import STEPS_A_TURN
from odradek.broker.server.surroundings import FixedSettings
from odradek.client.errors import ClientError
from odradek.client.share import ShareConsumer
from odradek.client.share.share_consumer import AcknowledgeType
from odradek.pipeline.snapshot.broker_link import BrokerLink, SnapshotError
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from odradek.testing.broker.in_process import InProcessBroker
from odradek.testing.clusters.cluster import KafkaCluster
from odradek.testing.clusters.cluster_broker import ClusterBroker
from support.brokers.asking import Asking
from support.brokers.free_ports import free_ports
from support.eventually import eventually
from support.security.identity_provider import AUDIENCE, ISSUER, IdentityProvider
from support.security.tls_files import TlsFiles

PATIENCE_S = 60
RECORDS = 6
LARGE = b"large" * 10_000
SEARCHED, SEARCHES = "searched", 4 * STEPS_A_TURN
LINES = 300
"""More log lines than one log call may write at once."""
BROKER_RESOURCE = 4
GROUP_RESOURCE = 32
COMPACTED = {"cleanup.policy": "compact,delete", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
CLEANER_RATE = "log.cleaner.io.max.bytes.per.second"
OAUTH = "org.apache.kafka.common.security.oauthbearer"
SECRET = "of-the-brokers"
TOKEN_LIFETIME_S = 60
QUICK = {
    "log.retention.check.interval.ms": "300",
    "log.cleaner.backoff.ms": "300",
    "log.flush.scheduler.interval.ms": "300",
    "log.flush.interval.messages": "1",
    "log.segment.delete.delay.ms": "100",
    "log.initial.task.delay.ms": "1",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
    "group.share.heartbeat.interval.ms": "300",
    "group.share.min.heartbeat.interval.ms": "300",
    "metadata.log.max.record.bytes.between.snapshots": "1000",
    "queued.max.request.bytes": "120000",
    "socket.request.max.bytes": "120000",
}
"""What happens in minutes or hours otherwise."""
SOON_MS = 300
QUICK_SETTINGS = FixedSettings(
    key_store_check_ms=SOON_MS,
    deleted_files_check_ms=SOON_MS,
    file_count_ms=SOON_MS,
    host_again_s=SOON_MS / 1000,
    cleaner_thread_bytes=20_000,
)
"""Shorter intervals, and a lower size above which a log is cleaned in a process."""


class SecuredCluster(KafkaCluster):
    """Two brokers with two log directories each, which connect to each other over TLS and log in with tokens.

    Clients may use the listener PLAINTEXT, or TLS.
    """

    def __init__(self, directory: Path, files: TlsFiles, provider: IdentityProvider) -> None:
        names = ("plaintext", "peers")
        prefix = "listener.name.peers.oauthbearer.sasl"
        configs: dict[str, str] = {
            **QUICK,
            **files.listener(),
            "group.initial.rebalance.delay.ms": "0",
            "replica.fetch.wait.max.ms": "100",
            "replica.socket.timeout.ms": "1500",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL,PEERS:SASL_SSL,CONTROLLER:PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
            "sasl.oauthbearer.jwks.endpoint.url": provider.jwks_url,
            "sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000",
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.token.endpoint.url": provider.token_url,
            "sasl.oauthbearer.client.credentials.client.id": "broker",
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
            f"{prefix}.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required;",
            f"{prefix}.login.callback.handler.class": f"{OAUTH}.OAuthBearerLoginCallbackHandler",
            f"{prefix}.server.callback.handler.class": f"{OAUTH}.OAuthBearerValidatorCallbackHandler",
            "connections.max.reauth.ms": "2000",
        }
        super().__init__(directory, len(names), configs)
        self.directories: list[tuple[Path, Path]] = []
        """The log directories of each broker."""
        self.metrics: list[str] = []
        """The address of the metrics of each broker."""
        self.tls_servers: list[str] = []
        """The addresses of the listener TLS."""
        host = "127.0.0.1"
        for broker in self.brokers:
            plain, tls, peers, metrics = free_ports(4)
            second = broker.log_dir.with_name("second")
            self.directories.append((broker.log_dir, second))
            self.metrics.append(f"https://{host}:{metrics}/metrics")
            self.tls_servers.append(f"{host}:{tls}")
            broker._settings = QUICK_SETTINGS
            broker._configs |= {
                "listeners": f"PLAINTEXT://{host}:{plain},TLS://{host}:{tls},PEERS://{host}:{peers}",
                "inter.broker.listener.name": "PEERS",
                "log.dirs": f"{broker.log_dir},{second}",
                "odradek.metrics.listener": f"{host}:{metrics}",
                "odradek.metrics.ssl.enable": "true",
            }


class Load:
    """What both kinds of load have: clients of confluent-kafka, and attempts until they succeed."""

    def __init__(self, servers: str) -> None:
        self.settings: dict[str, Any] = {"bootstrap.servers": servers, "log_level": 0}
        self.admin = AdminClient(self.settings)
        self.rounds = 0

    def run(self) -> None:
        """One round."""
        self.rounds += 1
        self.round(f"topic-{self.rounds}")

    def round(self, topic: str) -> None:
        """What one round does with a topic of its own."""
        raise NotImplementedError

    def attempt(self, what: str, attempt: Callable[[], object]) -> None:
        """Until it succeeds: an injected exception may fail a request."""
        last: list[Exception] = []

        def is_done() -> bool:
            try:
                return attempt() is not False
            except (KafkaException, ClientError, SnapshotError, OSError) as error:
                last[:] = [error]
                return False

        eventually(lambda: f"{what}: {last}", is_done, patience_s=PATIENCE_S)

    def create(self, topic: str, partitions: int, replicas: int, config: dict[str, str] = COMPACTED) -> bool:
        """Creates a topic. An earlier attempt may have made it."""
        with contextlib.suppress(KafkaException):
            self.admin.create_topics([NewTopic(topic, partitions, replicas, config=config)])[topic].result(PATIENCE_S)
        return topic in self.admin.list_topics(timeout=PATIENCE_S).topics

    def delete(self, topic: str) -> None:
        """Deletes a topic. An earlier attempt may have done so."""
        with contextlib.suppress(KafkaException):
            self.admin.delete_topics([topic])[topic].result(PATIENCE_S)

    def produce(self, topic: str, values: Sequence[bytes], **settings: Any) -> bool:
        """Writes the values, one after the other to the partitions 0 and 1."""
        producer = Producer({**self.settings, "enable.idempotence": True, "linger.ms": 0, **settings})
        for number, value in enumerate(values):
            producer.produce(topic, value, key=str(number), partition=number % 2)
        return producer.flush(PATIENCE_S) == 0

    def produce_at_once(self, topic: str, **settings: Any) -> bool:
        """Large batches from several connections at once: more than the memory for requests."""
        producers = [Producer({**self.settings, "linger.ms": 0, **settings}) for _ in range(3)]
        for producer in producers:
            for number in range(2):
                producer.produce(topic, LARGE, key=b"large", partition=number)
        return all(producer.flush(PATIENCE_S) == 0 for producer in producers)

    def transaction(self, topic: str) -> None:
        """A transaction with a record in each partition."""
        producer = Producer({**self.settings, "transactional.id": topic})
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
        for number in range(2):
            producer.produce(topic, b"in a transaction", key="t", partition=number)
        producer.commit_transaction(PATIENCE_S)

    def consume(self, topic: str, **settings: Any) -> None:
        """Reads all records with a group, commits, and looks up offsets by time."""
        group = {"group.id": f"of-{topic}", "auto.offset.reset": "earliest"}
        consumer = Consumer({**self.settings, **group, **settings})
        consumer.subscribe([topic])
        try:
            found: list[object] = []

            def has_all() -> bool:
                found.extend(one for one in consumer.consume(10, 0.1) if one.error() is None)
                return len(found) >= RECORDS

            eventually(
                lambda: f"all of {topic}; consumed: {found}, assigned: {consumer.assignment()}",
                has_all,
                patience_s=PATIENCE_S,
            )
            self.attempt("a commit", lambda: consumer.commit(asynchronous=False))
            at = [TopicPartition(topic, number, 1) for number in range(2)]
            self.attempt("offsets by time", lambda: consumer.offsets_for_times(at, timeout=PATIENCE_S))
        finally:
            consumer.close()

    def configure(self, port: int, key: str, value: int) -> bool:
        """Sets a config of all brokers."""
        config = IncrementalAlterConfigsRequest.AlterableConfig(key, 0, str(value))
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(BROKER_RESOURCE, "", [config])
        return not Asking(port).ask(IncrementalAlterConfigsRequest([resource], False), 1).responses[0].error_code

    def move(self, port: int, topic: str, directories: Sequence[Path]) -> None:
        """Moves partition 0 of a topic to the other log directory of a broker."""
        [target] = [path for path in directories if not (path / f"{topic}-0").is_dir()]

        def is_there() -> bool:
            if (target / f"{topic}-0").is_dir():
                return True
            Asking(port).move(topic, 0, str(target))
            return False

        self.attempt(f"{topic}-0 is in {target}", is_there)


class ClusterLoad(Load):
    """Replication, transactions between brokers, TLS, logins, moves, large batches, and memory that runs out."""

    def __init__(self, cluster: SecuredCluster, files: TlsFiles) -> None:
        super().__init__(cluster.bootstrap_servers)
        self._cluster = cluster
        self._files = files
        self._tls = {**files.librdkafka(with_key=False), "bootstrap.servers": ",".join(cluster.tls_servers)}
        self._trust = ssl.create_default_context(cafile=files.trust)

    def round(self, topic: str) -> None:
        """Uses all of it once."""
        cluster, brokers = self._cluster, self._cluster.brokers
        renewed = self._files.authority.issue("broker", ["localhost", "127.0.0.1"])
        renewed.write_pem(self._files.directory / "server.pem")
        self.attempt("a topic is created", lambda: self.create(topic, 2, 2))
        self.attempt("records are written", lambda: self.produce(topic, [b"value"] * RECORDS, **self._tls))
        cluster.partition(brokers[0], brokers[1])  # so that they connect and log in again
        cluster.heal()
        self.attempt("large records are written", lambda: self.produce_at_once(topic))
        self.attempt("compressed ones are", lambda: self.produce_at_once(topic, **{"compression.type": "gzip"}))
        self.attempt("a transaction ends", lambda: self.transaction(topic))
        self.consume(topic, **self._tls)
        self.attempt("a topic for searches", lambda: self.create(SEARCHED, SEARCHES, 1, {}))
        self.attempt("offsets of many partitions", self.search)
        for broker, directories, metrics in zip(brokers, cluster.directories, cluster.metrics, strict=True):
            self.move(broker.port, topic, directories)
            self.attempt("metrics are read", partial(self.read_metrics, metrics))
            self.attempt("a config is set", partial(self.configure, broker.port, CLEANER_RATE, self.rounds))
        for internal in ("__consumer_offsets", "__transaction_state"):
            cluster.wait_until_in_sync(internal)
        self.attempt("a topic is deleted", lambda: self.delete(topic))

    def search(self) -> None:
        """Asks for offsets by time in many partitions, which each broker searches in several turns."""
        consumer = Consumer({**self.settings, "group.id": "searching"})
        try:
            consumer.offsets_for_times(
                [TopicPartition(SEARCHED, number, 1) for number in range(SEARCHES)], timeout=PATIENCE_S
            )
        finally:
            consumer.close()

    def read_metrics(self, url: str) -> bool:
        """Reads the metrics of a broker."""
        with urllib.request.urlopen(url, context=self._trust, timeout=PATIENCE_S) as answer:
            return bool(answer.read())

    def simple_round(self) -> None:
        """Replication and a group, for a cluster that has lost a log directory."""
        self.rounds += 1
        topic = f"simple-{self.rounds}"
        self.attempt("a topic is created", lambda: self.create(topic, 2, 2))
        self.attempt("records are written", lambda: self.produce(topic, [b"value"] * RECORDS, acks="all"))
        self.consume(topic)

    def diverge(self, topic: str) -> ClusterBroker:
        """The leader of a partition gets a record that its follower has not, and crashes. Returns it once the other
        broker leads, and has other records in its place."""
        cluster = self._cluster
        self.attempt("a topic is created", lambda: self.create(topic, 1, 2, {"retention.ms": "-1"}))
        cluster.wait_until_in_sync(topic)
        leader = cluster.wait_for_leader(topic)
        [follower] = [broker for broker in cluster.brokers if broker is not leader]
        cluster.partition(leader, follower)
        assert Asking(leader.port).produce(topic, 0, b"lost", acks=1) == 0
        leader.kill()
        cluster.heal()
        cluster.wait_for_leader(topic, other_than=leader)
        self.attempt("the other one leads", lambda: Asking(follower.port).produce(topic, 0, b"kept", acks=1) == 0)
        return leader


class LoadAlone(Load):
    """A broker that is its own controller: quotas with host names, throttled clients, a disk that is full, partitions
    that find no descriptor, share groups with dead letters, and log lines that are left out."""

    def __init__(self, broker: InProcessBroker) -> None:
        super().__init__(broker.bootstrap_servers)
        self._broker = broker

    def round(self, topic: str) -> None:
        """Uses all of it once."""
        broker = self._broker
        host = same_name("localhost", self.rounds)
        self.attempt("a quota is set", lambda: self.limit("connection_creation_rate", "ip", host, 1000))
        self.attempt("a quota is set", lambda: self.limit("producer_byte_rate", "client-id", "slow", 100_000))
        self.attempt("a topic is created", lambda: self.create(topic, 2, 1))
        self.attempt("records are written at once", lambda: self.produce_at_once(topic))
        self.attempt("a producer is throttled", lambda: self.produce_until_throttled(topic))
        broker.disk_is_full = True
        self.attempt("the disk is full", lambda: Asking(broker.port).produce(topic, 0, b"refused") != 0)
        broker.disk_is_full = False
        self.attempt("there is room", lambda: Asking(broker.port).produce(topic, 0, b"taken") == 0)
        self.attempt("records are written", lambda: self.produce(topic, [b"value"] * RECORDS))
        self.attempt("a transaction ends", lambda: self.transaction(topic))
        self.consume(topic)
        self.attempt("a share group is configured", lambda: self.configure_sharing(f"sharing-{topic}"))
        self.attempt("a share group rejects all", lambda: asyncio.run(self.reject_all(topic)))
        self.attempt("a streams group gets its tasks", lambda: self.stream(topic))
        self.attempt("a config is set", lambda: self.configure(broker.port, CLEANER_RATE, self.rounds))
        for _ in range(LINES):
            logging.getLogger("odradek.broker").info("a line that is written too often")
        self.attempt("a snapshot is asked for", self.ask_for_a_snapshot)
        self.attempt("a topic is deleted", lambda: self.delete(topic))

    def ask_for_a_snapshot(self) -> bool:
        """Takes the cut of a snapshot, and leaves it."""
        with BrokerLink(self._broker.log_dir) as link:
            link.cut()
            return bool(list(link.logs()))

    def produce_until_throttled(self, topic: str) -> bool:
        """Large batches from one connection until it is muted, and one more after that."""
        throttled: list[object] = []
        settings = {"client.id": "slow", "linger.ms": 0, "throttle_cb": throttled.append}
        producer = Producer({**self.settings, **settings})
        while not throttled:
            producer.produce(topic, LARGE, partition=0)
            if producer.flush(PATIENCE_S):
                return False
        producer.produce(topic, LARGE, partition=0)
        return producer.flush(PATIENCE_S) == 0

    def configure_sharing(self, group: str) -> bool:
        """A share group begins at the first record, and has a topic for its dead letters."""
        configs = [
            IncrementalAlterConfigsRequest.AlterableConfig("share.auto.offset.reset", 0, "earliest"),
            IncrementalAlterConfigsRequest.AlterableConfig("errors.deadletterqueue.topic.name", 0, f"dlq.{group}"),
        ]
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(GROUP_RESOURCE, group, configs)
        request = IncrementalAlterConfigsRequest([resource], False)
        return not Asking(self._broker.port).ask(request, 1).responses[0].error_code

    def stream(self, topic: str) -> bool:
        """A member joins a streams group with a topology that lacks an internal topic, gets its tasks, and leaves."""
        group = f"streams-{topic}"
        changelog = StreamsGroupHeartbeatRequest.TopicInfo(f"{group}-changelog", 0, 1, [])
        part = StreamsGroupHeartbeatRequest.Subtopology("0", [topic], [], [changelog])
        first = self.streams_heartbeat(
            group,
            0,
            rebalance_timeout_ms=60_000,
            topology=StreamsGroupHeartbeatRequest.Topology(0, [part]),
            process_id="process",
            client_tags=[],
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
        )
        if first.error_code:
            return False
        epoch = first.member_epoch
        tasks = first.active_tasks

        def has_tasks() -> bool:
            nonlocal epoch, tasks
            answer = self.streams_heartbeat(group, epoch)
            if not answer.error_code:
                epoch, tasks = answer.member_epoch, answer.active_tasks or tasks
            return bool(tasks)

        eventually(f"{group} has tasks", has_tasks, patience_s=PATIENCE_S)
        return not self.streams_heartbeat(group, -1).error_code

    def streams_heartbeat(self, group: str, epoch: int, **fields: Any) -> StreamsGroupHeartbeatResponse:
        """Sends a heartbeat of the only member of a streams group."""
        request = StreamsGroupHeartbeatRequest(group_id=group, member_id="member", member_epoch=epoch, **fields)
        answer = Asking(self._broker.port).ask(request, 1)
        assert isinstance(answer, StreamsGroupHeartbeatResponse)
        return answer

    async def reject_all(self, topic: str) -> None:
        """Rejects what a share group gets: the records of the topic, and one more, for which a fetch has waited."""
        async with ShareConsumer(
            topic,
            group_id=f"sharing-{topic}",
            bootstrap_servers=self._broker.bootstrap_servers,
            share_acknowledgement_mode="explicit",
        ) as consumer:
            values: set[bytes | None] = set()
            written: list[asyncio.Future[bool]] = []
            while b"awaited" not in values:
                records = await consumer.poll(SOON_MS)
                for record in records:
                    values.add(record.record.value)
                    consumer.acknowledge(record, AcknowledgeType.REJECT)
                if b"value" in values and not records and not written:
                    written.append(asyncio.ensure_future(asyncio.to_thread(self.produce, topic, [b"awaited"])))
            await asyncio.gather(*written)

    def limit(self, key: str, kind: str, name: str, value: float) -> bool:
        """Sets a quota."""
        operation = AlterClientQuotasRequest.OpData(key, value + self.rounds)
        entity = AlterClientQuotasRequest.EntityData(kind, name)
        request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData([entity], [operation])])
        return not Asking(self._broker.port).ask(request, 1).entries[0].error_code


def same_name(host: str, number: int) -> str:
    """The name of a host in other letters for each number: the broker has not looked it up yet."""
    return "".join(one.upper() if number >> place & 1 else one for place, one in enumerate(host))
