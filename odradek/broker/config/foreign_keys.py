"""Keys of other programs or of earlier releases, which a broker of Kafka 4 does not have.

Pure; it imports nothing of ours, since the image's entry point reads it. Apache Kafka's broker ignores any key that it
does not know. Ours reports one, because most are mistakes; these two kinds are known not to be. Source: the upgrade
notes of Kafka 4.0 for the removed keys; ProducerConfig, ConsumerConfig and AdminClientConfig of Kafka 4.4.0 for those
of clients.
"""

REMOVED_PREFIXES = (
    "zookeeper.",
    "password.encoder.",
    "inter.broker.protocol",
    "log.message.format",
    "log.message.downconversion",
)
REMOVED = frozenset(
    {
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "delegation.token.master.key",
        "log.message.timestamp.difference.max.ms",
        "offsets.commit.required.acks",
        "reserved.broker.max.id",
        "sasl.oauthbearer.sub.claim",
        "zookeeper.connect",
    }
)
"""Keys of Kafka 3 that Kafka 4 has removed. They get another message than a misspelled key."""
OF_CLIENTS = frozenset(
    {
        "acks",
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "batch.size",
        "bootstrap.controllers",
        "bootstrap.resolve.timeout.ms",
        "bootstrap.servers",
        "buffer.memory",
        "buffer.memory.allocation.strategy",
        "check.crcs",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "default.api.timeout.ms",
        "delivery.timeout.ms",
        "enable.auto.commit",
        "enable.idempotence",
        "enable.metrics.push",
        "exclude.internal.topics",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "interceptor.classes",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "isolation.level",
        "key.deserializer",
        "key.serializer",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "max.request.size",
        "metadata.cluster.check.enable",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "partition.assignment.strategy",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "partitioner.rack.aware",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "sasl.mechanism",
        "sasl.oauthbearer.header.urlencode",
        "security.protocol",
        "send.buffer.bytes",
        "session.timeout.ms",
        "share.acknowledgement.mode",
        "share.acquire.mode",
        "transaction.timeout.ms",
        "transactional.id",
        "value.deserializer",
        "value.serializer",
    }
)
"""Keys of producers, consumers and admin clients that are not keys of a broker."""


def is_removed(key: str) -> bool:
    """Whether a key is one of Kafka 3 that Kafka 4 has removed."""
    return key in REMOVED or key.startswith(REMOVED_PREFIXES)
