"""The cluster behind a listener: versions, advertised addresses, controllers, replication factors.

Owns: the checks that need no topic and no group of the user. Never does: writing. What a user may not ask is skipped,
not an error.
"""

import ipaddress
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.metadata import MetadataResponse

from ...admin.configs import ConfigAdmin
from ...admin.quorum import QuorumAdmin, QuorumDescription
from ...admin.topics import TopicAdmin
from ...cluster.connection import address_of
from ...cluster.metadata import TopicMetadata
from ...errors import AdminError, ClientError
from .diagnosis import Diagnosis, Verdict, error, ok, skipped, warning
from .target import Target, check_target

FETCH_OF_KAFKA_2_1 = 10
"""Clients of Kafka 4 want brokers of Kafka 2.1 or later (KIP-896), whose Fetch has this version."""
LAG_MS = 10_000
"""A controller that has caught up longer ago than the leader by this time is behind, or down."""


class NeededTopic(NamedTuple):
    """A topic that the brokers make at first use, and what stops without it."""

    name: str
    factor_key: str
    min_isr_key: str
    users: str


OFFSETS = NeededTopic(
    "__consumer_offsets", "offsets.topic.replication.factor", "min.insync.replicas", "consumer groups"
)
NEEDED_TOPICS = (
    OFFSETS,
    NeededTopic(
        "__transaction_state",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        "transactions",
    ),
    NeededTopic(
        "__share_group_state",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.min.isr",
        "share groups",
    ),
)


class ClusterAdmin(ConfigAdmin, TopicAdmin, QuorumAdmin):
    """The requests of these checks."""


def judge_versions(versions: Mapping[int, tuple[int, int]]) -> Diagnosis:
    """The diagnosis for the versions that a broker serves: API key -> lowest and highest."""
    lowest, highest = versions.get(FetchRequest.API_KEY, (0, 0))
    if highest < FETCH_OF_KAFKA_2_1:
        text = f"the broker is older than Kafka 2.1 (it serves Fetch up to version {highest})"
        return warning("versions", text, "Clients of Kafka 4 refuse it: upgrade the broker, or use older clients.")
    return ok("versions", f"the broker serves {len(versions)} APIs, Fetch in the versions {lowest} to {highest}")


def is_loopback(host: str) -> bool:
    """Whether only programs on the same machine reach this host."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def check_advertised(target: Target, metadata: MetadataResponse) -> AsyncIterator[Diagnosis]:
    """Whether each broker can be reached at the address that it tells its clients."""
    reached = []
    for broker in metadata.brokers:
        address = address_of(broker.host, broker.port)
        diagnosis = None
        if (broker.host, broker.port) != (target.host, target.port):
            diagnosis = await _try_advertised(target, metadata, broker)
        if diagnosis is None:
            reached.append(f"{broker.node_id} at {address}")
        else:
            yield diagnosis
    if reached:
        yield ok("advertised", f"reached: broker {', broker '.join(reached)}")
    if not metadata.brokers:
        yield error("advertised", "the controllers have fenced all brokers", "Look at the brokers' logs.")


async def _try_advertised(
    target: Target, metadata: MetadataResponse, broker: MetadataResponse.MetadataResponseBroker
) -> Diagnosis | None:
    """A diagnosis if a client would not reach a broker at its advertised address, or only on that machine."""
    other = Target(broker.host, broker.port, target.security, target.timeout_s)
    says = f"I reached {target.address}, and was told that broker {broker.node_id} is at {other.address}"
    step = f"Set advertised.listeners of broker {broker.node_id} to an address that its clients reach."
    try:
        failed = [found async for found in check_target(other) if found.verdict is Verdict.ERROR]
    finally:
        if other.connection is not None:
            other.connection.close()
    if failed:
        return error("advertised", f"{says}, where {failed[0].text}", step)
    if other.metadata is not None and other.metadata.cluster_id != metadata.cluster_id:
        return error("advertised", f"{says}, where another cluster answers ({other.metadata.cluster_id})", step)
    if is_loopback(broker.host) and not is_loopback(target.host):
        return warning("advertised", f"{says}, which only programs on that machine reach", step)
    return None


async def check_controllers(admin: ClusterAdmin, metadata: MetadataResponse) -> Diagnosis:
    """Whether a controller is active, and the others follow it."""
    try:
        quorum = await admin.describe_metadata_quorum()
    except KafkaError as refusal:
        if refusal.error_code is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return _no_controller(str(refusal.args[-1]))
        if metadata.controller_id < 0:
            return _no_controller("the metadata names none")
        return skipped("controllers", "one is active; this user may not ask about the others")
    except ClientError as failure:
        return skipped("controllers", str(failure))
    return judge_quorum(quorum)


def _no_controller(reason: str) -> Diagnosis:
    step = "Start a majority of the controllers in controller.quorum.voters, and look at their logs."
    return error("controllers", f"no controller is active: {reason}. No topic can be created, no leader elected", step)


def judge_quorum(quorum: QuorumDescription) -> Diagnosis:
    """The diagnosis for the controllers: those that do not follow the leader are named."""
    if quorum.leader_id < 0:
        return _no_controller("the quorum has no leader")
    times = {voter.node_id: voter.last_caught_up_timestamp for voter in quorum.voters}
    newest = times.get(quorum.leader_id, -1)
    behind = [node_id for node_id, caught_up in times.items() if newest >= 0 and newest - caught_up > LAG_MS]
    if behind:
        text = f"controller {', '.join(map(str, behind))} of {len(times)} does not follow the active one"
        step = "Start it again: the cluster stops when a majority is down."
        return warning("controllers", text, step)
    return ok("controllers", f"{quorum.leader_id} is active, of {len(times)}")


async def check_replication(admin: ClusterAdmin, metadata: MetadataResponse) -> AsyncIterator[Diagnosis]:
    """Whether the internal topics, and new topics, get as many replicas as they ask for."""
    node_id = str(metadata.brokers[0].node_id)
    try:
        entries = (await admin.describe_configs("broker", [node_id]))[node_id]
    except KafkaError:
        yield skipped("replication", "this user may not see the brokers' configs")
        return
    try:
        topics = await admin.describe_topics([topic.name for topic in NEEDED_TOPICS])
    except AdminError as some:
        if any(one.error_code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for one in some.errors.values()):
            yield skipped("replication", "this user may not see the internal topics")
            return
        topics = some.results
    configs = {entry.name: entry.value for entry in entries if entry.value is not None}
    found = list(judge_replication(len(metadata.brokers), configs, topics))
    for diagnosis in found:
        yield diagnosis
    if not found:
        yield ok("replication", "the internal topics and new topics have, or get, the replicas that they need")


def judge_replication(
    alive: int, configs: Mapping[str, str], topics: Mapping[str, TopicMetadata]
) -> Iterator[Diagnosis]:
    """The diagnoses for the replication factors: with the number of brokers that are alive, the configs of one of
    them, and the internal topics that exist."""
    for internal in NEEDED_TOPICS:
        if internal.factor_key in configs:
            yield from _judge_internal(internal, alive, configs, topics.get(internal.name))
    factor = int(configs.get("default.replication.factor", 1))
    if factor > alive:
        text = f"default.replication.factor is {factor}, and {alive} brokers are alive: new topics can't be created"
        yield warning("replication", text, "Lower it, or start more brokers.")


def _judge_internal(
    internal: NeededTopic, alive: int, configs: Mapping[str, str], topic: TopicMetadata | None
) -> Iterator[Diagnosis]:
    """The diagnoses for one internal topic. Consumer groups are in general use, the others are not."""
    verdict = error if internal is OFFSETS else warning
    factor, least = int(configs[internal.factor_key]), int(configs.get(internal.min_isr_key, 1))
    if topic is None:
        if factor > alive:
            text = f"{internal.factor_key} is {factor}, and {alive} brokers are alive: {internal.users} can't begin"
            yield verdict("replication", text, f"Set it to {alive}, or start more brokers.")
        return
    partitions = topic.partitions.values()
    lost = sum(partition.leader < 0 for partition in partitions)
    few = sum(one.leader >= 0 and len(one.isr) < min(least, len(one.replicas)) for one in partitions)
    step = "Start the brokers that have their replicas."
    if lost:
        text = f"{lost} of {len(partitions)} partitions of {internal.name} have no leader: {internal.users} stand still"
        yield error("replication", text, step)
    if few:
        text = f"{few} of {len(partitions)} partitions of {internal.name} have fewer replicas in sync than {least}"
        yield error("replication", f"{text} ({internal.min_isr_key}): {internal.users} stand still", step)
