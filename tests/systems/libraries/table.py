"""The client libraries that the tests run: one row for each, with its pinned version.

A row names the library as its registry does. ``program`` is the file below ``programs/`` that uses it, ``verbs`` the
steps of the scenario (``scenario.py``) that the library has functions for.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial


class Registry(StrEnum):
    """Places that libraries come from."""

    PYPI = "PyPI"
    NPM = "npm"
    GO = "Go modules"
    CRATES = "crates.io"
    MAVEN = "Maven Central"
    DEBIAN = "Debian 12"


@dataclass(frozen=True, slots=True)
class Library:
    """One client library."""

    name: str
    version: str
    program: str
    verbs: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Further packages: requirements of pip, ``name@version`` of npm, modules of Go, lines of Cargo.toml, coordinates
    of Maven, packages of Debian."""
    note: str = ""
    """What a user has to know, for the page."""
    language: str = field(kw_only=True)
    registry: Registry = field(kw_only=True)


ALL = ("create", "produce", "consume", "transact")
NO_ADMIN = ("produce", "consume", "transact")
NO_TRANSACTIONS = ("create", "produce", "consume")
MESSAGES = ("produce", "consume")
NO_GROUPS = ("create", "produce", "read")

OLD = (
    "these libraries write records in formats from before Kafka 0.11, which neither broker takes, so they only read "
    "here. Apache Kafka 4 does not serve the requests with which they read, either."
)

python = partial(Library, language="Python", registry=Registry.PYPI)
node = partial(Library, language="JavaScript", registry=Registry.NPM)
go = partial(Library, language="Go", registry=Registry.GO)
rust = partial(Library, language="Rust", registry=Registry.CRATES)
java = partial(Library, language="Java", registry=Registry.MAVEN)
debian = partial(Library, registry=Registry.DEBIAN)

TOKIO = 'tokio = { version = "1", features = ["full"] }'
NODE_22 = ("node@22.23.3",)
KADM = ("github.com/twmb/franz-go/pkg/kadm@v1.20.0",)
CAMEL = ("org.apache.camel:camel-core:4.22.0",)
STREAMS = (TOKIO, 'tokio-stream = "0.1"', 'futures = "0.3"')

LIBRARIES = [
    python("kafka-python", "3.0.12", "kafka_python.py", ALL),
    python("kafka-python-ng", "2.2.3", "kafka_python.py", NO_TRANSACTIONS),
    python("confluent-kafka", "2.16.1", "confluent.py", ALL),
    python("aiokafka", "0.14.0", "aio_kafka.py", ALL),
    python("pykafka", "2.8.0", "py_kafka.py", ("consume",), (), OLD),
    python("faust-streaming", "0.15.3", "faust_streaming.py", MESSAGES),
    python("bytewax", "0.21.1", "bytewax_flow.py", ("produce", "read"), ("bytewax[kafka]==0.21.1",)),
    python("quixstreams", "3.28.1", "quix_streams.py", NO_TRANSACTIONS),
    python("faststream", "0.7.8", "fast_stream.py", MESSAGES, ("faststream[kafka]==0.7.8",)),
    node("kafkajs", "2.2.4", "kafkajs.js", ALL),
    node("node-rdkafka", "3.6.1", "rdkafka.js", ALL),
    node("@platformatic/kafka", "2.12.1", "platformatic.mjs", ALL, NODE_22),
    node("kafka-node", "5.0.0", "kafka_node.js", ("consume",), (), OLD),
    node("no-kafka", "3.4.4", "no_kafka.js", ("consume",), (), OLD),
    go("github.com/IBM/sarama", "v1.61.1", "sarama.go", ALL),
    go("github.com/segmentio/kafka-go", "v0.4.51", "kafka_go.go", NO_TRANSACTIONS),
    go("github.com/twmb/franz-go", "v1.22.3", "franz_go.go", ALL, KADM),
    go("github.com/confluentinc/confluent-kafka-go/v2", "v2.11.1", "confluent.go", ALL),
    go("github.com/ThreeDotsLabs/watermill-kafka/v3", "v3.0.6", "watermill.go", MESSAGES),
    rust("rdkafka", "0.39.0", "rdkafka.rs", ALL, (TOKIO,)),
    rust("rskafka", "0.6.0", "rskafka.rs", NO_GROUPS, (TOKIO, 'chrono = "0.4"')),
    rust("samsa", "0.1.8", "samsa.rs", NO_GROUPS, STREAMS),
    rust("kafka", "0.10.0", "kafka.rs", ("consume",), (), OLD),
    java("org.apache.kafka:kafka-clients", "4.4.0", "JavaClient.java", ALL),
    java("io.projectreactor.kafka:reactor-kafka", "1.3.25", "ReactorKafka.java", NO_ADMIN),
    java("org.springframework.kafka:spring-kafka", "4.1.2", "SpringKafka.java", ALL),
    java("io.vertx:vertx-kafka-client", "5.0.7", "VertxKafka.java", ALL),
    java("org.apache.pekko:pekko-connectors-kafka_2.13", "1.1.0", "PekkoConnectors.java", MESSAGES),
    java("com.typesafe.akka:akka-stream-kafka_2.13", "4.0.2", "AlpakkaKafka.java", MESSAGES),
    java("org.apache.camel:camel-kafka", "4.22.0", "CamelKafka.java", MESSAGES, CAMEL),
    debian("librdkafka", "2.0.2", "librdkafka.c", NO_ADMIN, language="C"),
    debian("librdkafka++", "2.0.2", "librdkafkapp.cpp", NO_ADMIN, language="C++"),
    debian("kcat", "1.7.1", "kcat.sh", MESSAGES, language="command line"),
]
