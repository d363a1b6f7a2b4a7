"""What to use instead of programs that Odradek lacks and that Kafka ships, or shipped until version 3."""

ZOOKEEPER = "Kafka 4 and Odradek have no ZooKeeper: the metadata is in the log directory"
CONNECT = "Kafka Connect is a part of Apache Kafka: run it from there, with bootstrap.servers of this broker"
METRICS = "the broker has no JMX: set odradek.metrics.listener and read /metrics (docs/metrics.md)"

INSTEAD_OF_TOOL = {
    "connect-distributed": CONNECT,
    "connect-mirror-maker": CONNECT,
    "connect-plugin-path": CONNECT,
    "connect-standalone": CONNECT,
    "kafka-jmx": METRICS,
    "kafka-metadata-shell": "use 'odradek dump-log --cluster-metadata-decoder --files FILE'",
    "kafka-mirror-maker": "Kafka 4 removed it: run connect-mirror-maker.sh of Apache Kafka against this broker",
    "kafka-preferred-replica-election": "use 'odradek leader-election --election-type preferred "
    "--all-topic-partitions'",
    "kafka-replica-verification": "use 'odradek topics --describe --under-replicated-partitions'; "
    "'odradek storage check' verifies the files of a broker",
    "kafka-server-stop": "end the process of 'odradek serve' with SIGTERM (kill, systemctl stop, docker stop)",
    "kafka-share-consumer-perf-test": "run it from Apache Kafka against this broker, or use 'odradek consume --share'",
    "kafka-verifiable-consumer": "use 'odradek verify' or 'odradek consume --json'",
    "kafka-verifiable-producer": "use 'odradek verify' or 'odradek perf produce'",
    "kafka-verifiable-share-consumer": "use 'odradek consume --share --json'",
    "trogdor": "it is for Kafka's own system tests; 'odradek perf' measures",
    "zookeeper-security-migration": ZOOKEEPER,
    "zookeeper-server-start": ZOOKEEPER,
    "zookeeper-server-stop": ZOOKEEPER,
    "zookeeper-shell": f"{ZOOKEEPER}; 'odradek cluster list-endpoints' and 'odradek topics --describe' show "
    "brokers and topics",
}
"""Program name without ``.sh`` -> text for the user: what to use instead."""

COMMAND_OF_CLASS = {
    "AclCommand": "acls",
    "BrokerApiVersionsCommand": "broker-api-versions",
    "ClusterTool": "cluster",
    "ConfigCommand": "configs",
    "ConsoleConsumer": "consume",
    "ConsoleProducer": "produce",
    "ConsoleShareConsumer": "consume --share",
    "ConsumerGroupCommand": "groups",
    "ConsumerPerformance": "perf consume",
    "DelegationTokenCommand": "delegation-tokens",
    "DeleteRecordsCommand": "delete-records",
    "DumpLogSegments": "dump-log",
    "EndToEndLatency": "perf end-to-end",
    "FeatureCommand": "features",
    "GetOffsetShell": "get-offsets",
    "Kafka": "serve",
    "LeaderElectionCommand": "leader-election",
    "LogDirsCommand": "log-dirs",
    "MetadataQuorumCommand": "metadata-quorum",
    "ProducerPerformance": "perf produce",
    "ReassignPartitionsCommand": "reassign-partitions",
    "ShareGroupCommand": "share-groups",
    "StorageTool": "storage",
    "StreamsGroupCommand": "streams-groups",
    "StreamsResetter": "streams-application-reset",
    "TopicCommand": "topics",
    "TransactionsCommand": "transactions",
}
"""A class of ``kafka-run-class.sh`` without its package -> the command that does the same."""


COMMAND_OF_WORD = {
    "broker": "serve",
    "brokers": "cluster list-endpoints",
    "create": "topics --create",
    "delete": "topics --delete",
    "describe": "topics --describe",
    "lag": "groups --describe --all-groups",
    "list": "topics --list",
    "ls": "topics --list",
    "offsets": "get-offsets",
    "run": "serve",
    "server": "serve",
    "start": "serve",
    "status": "health",
    "users": "configs --describe --entity-type users",
    "version": "--version",
}
"""A word that is not a command -> the command that it most likely means."""


def instead_of(arguments: list[str]) -> str | None:
    """A text: what to use instead of ``arguments`` (program and arguments). None if it is not Kafka's program.

    Kafka's programs are known without ``kafka-``, too.
    """
    tool = arguments[0].removesuffix(".sh")
    if f"kafka-{tool}" in INSTEAD_OF_TOOL or tool == "run-class":
        tool = f"kafka-{tool}"
    if tool != "kafka-run-class":
        return INSTEAD_OF_TOOL.get(tool)
    java_class = next((argument for argument in arguments[1:] if not argument.startswith("-")), "")
    if java_class.endswith("JmxTool"):
        return METRICS
    command = COMMAND_OF_CLASS.get(java_class.rpartition(".")[2])
    use = "see 'odradek --help'" if command is None else f"use 'odradek {command}'"
    return f"there are no Java classes here; {use}"
