"""``odradek consume`` with formatters and deserializers prints what Kafka's console consumer prints."""

import contextlib
import random
import struct
import uuid
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.__main__ import COMMANDS
from odradek.client.commands.deserializers import DESERIALIZERS, DeserializationError, deserializer_of
from odradek.testing.broker.in_process import InProcessBroker
from support.kafka.tools import KafkaTools

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
SERIALIZATION = "org.apache.kafka.common.serialization"
FORMATTERS = "org.apache.kafka.tools.consumer"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessBroker]:
    """A broker whose internal topics have one partition, with a group, a transaction and records of every kind."""
    configs = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
    with InProcessBroker(tmp_path_factory.mktemp("formats"), configs) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "transfers"})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("text", "välue", "key", headers=[("h", b"1"), ("n", None)])
        producer.produce("text", None, None)
        producer.commit_transaction()
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "readers"})
        consumer.subscribe(["text"])
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.commit(offsets=[TopicPartition("text", 0, 1, "")], asynchronous=False)
        consumer.close()
        yield broker


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools


def send(broker: InProcessBroker, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, value)
    assert producer.flush(60) == 0


def ours(capfd: pytest.CaptureFixture[str], broker: InProcessBroker, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Standard output and standard error of our command."""
    module, _, function = COMMANDS["consume"][0].partition(":")
    capfd.readouterr()
    run = getattr(import_module(module), function)
    assert run(["--bootstrap-server", broker.bootstrap_servers, *arguments]) == code
    return capfd.readouterr()


def end_of(broker: InProcessBroker, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "asks"})
    end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)[1]
    consumer.close()
    return int(end)


@pytest.mark.java
@pytest.mark.parametrize(
    ("formatter", "topic", "shown"),
    [
        ("OffsetsMessageFormatter", "__consumer_offsets", '"group":"readers","topic":"text"'),
        ("GroupMetadataMessageFormatter", "__consumer_offsets", '"protocolType":"consumer"'),
        ("TransactionLogMessageFormatter", "__transaction_state", '"transactionalId":"transfers"'),
        ("DefaultMessageFormatter", "text", "välue"),
        ("LoggingMessageFormatter", "text", "välue"),
        ("NoOpMessageFormatter", "text", ""),
    ],
)
def test_formatters(
    tools: KafkaTools,
    broker: InProcessBroker,
    capfd: pytest.CaptureFixture[str],
    formatter: str,
    topic: str,
    shown: str,
) -> None:
    count = 2 if topic == "text" else end_of(broker, topic)
    arguments = ["--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", str(count)]
    arguments += ["--formatter", f"{FORMATTERS}.{formatter}"]
    out, err = ours(capfd, broker, *arguments)
    assert out == tools.run(CONSUMER, broker.bootstrap_servers, *arguments).out
    assert shown in out
    assert ("key:key, value:välue" in err) == (formatter == "LoggingMessageFormatter")


def of_every_size(seed: int, layout: str, count: int) -> list[bytes]:
    rng = random.Random(seed)
    size = struct.calcsize(layout)
    edges = [bytes(size), b"\xff" * size, b"\x80" + bytes(size - 1), b"\x7f" + b"\xff" * (size - 1)]
    return edges + [rng.randbytes(size) for _ in range(count)]


VALUES: dict[str, list[bytes]] = {
    "Long": of_every_size(1, ">q", 30),
    "Integer": of_every_size(2, ">i", 30),
    "Short": of_every_size(3, ">h", 30),
    # Java 17 prints some numbers with one digit too many (JDK-4511638); these have few digits.
    "Double": [struct.pack(">d", one) for one in (0.0, -0.0, 1.5, 0.001, 0.0005, 1e7, 12345678.5, 1e300, -2.5e-300)]
    + [struct.pack(">d", float(text)) for text in ("inf", "-inf", "nan", "9999999", "100", "0.1")],
    "Float": [struct.pack(">f", one) for one in (0.0, -0.0, 1.5, 0.1, 0.3, 1e7, 1.5e9, 3.4e38, -2.5e-30, 0.001)]
    + [struct.pack(">f", float(text)) for text in ("inf", "-inf", "nan", "16777216", "100")],
    "Boolean": [b"\0", b"\1"],
    "UUID": [str(uuid.UUID(int=n << 90 | n)).encode() for n in range(1, 5)],
    "String": [b"plain", "ünï".encode(), b"\xff\xfe broken", b""],
    "Bytes": [b"plain \x00\xff\\ text", "ü".encode(), b"\n\t"],
}


@pytest.mark.java
@pytest.mark.parametrize("name", VALUES)
def test_deserializers(
    tools: KafkaTools, broker: InProcessBroker, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    topic = f"of-{name}"
    send(broker, topic, VALUES[name])
    arguments = ["--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", str(len(VALUES[name]))]
    arguments += ["--value-deserializer", f"{SERIALIZATION}.{name}Deserializer"]
    arguments += ["--key-deserializer", f"{SERIALIZATION}.{name}Deserializer", "--formatter-property", "print.key=true"]
    assert ours(capfd, broker, *arguments)[0] == tools.run(CONSUMER, broker.bootstrap_servers, *arguments).out


def test_a_record_that_cannot_be_printed_ends_the_command_or_is_skipped(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str]
) -> None:
    send(broker, "mixed", [b"\0" * 7 + b"\5", b"short", b"\0" * 7 + b"\6"])
    arguments = ["--topic", "mixed", "--from-beginning", "--until-end", "--value-deserializer", "LongDeserializer"]
    out, err = ours(capfd, broker, *arguments, code=1)
    assert "mixed-0 at offset 1: Size of data received by LongDeserializer is not 8" in err
    out, err = ours(capfd, broker, *arguments, "--skip-message-on-error")
    assert out == "5\n6\n"
    assert "Error processing message, skipping this message: mixed-0 at offset 1" in err
    assert "Processed a total of 3 messages" in err


def test_the_end_is_an_event(broker: InProcessBroker, capfd: pytest.CaptureFixture[str]) -> None:
    """Kafka's system tests wait for this line: ``ConsoleConsumer.addShutdownHook``."""
    send(broker, "ended", [b"one"])
    arguments = ["--topic", "ended", "--from-beginning", "--until-end", "--enable-systest-events"]
    assert ours(capfd, broker, *arguments)[0] == "one\nshutdown_complete\n"
    arguments[1] = "missing"
    assert ours(capfd, broker, *arguments, code=1)[0] == "shutdown_complete\n"


def test_json_shows_what_the_deserializers_make_of_the_bytes(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str]
) -> None:
    send(broker, "numbers", [b"\0\0\0\5"])
    arguments = ["--topic", "numbers", "--from-beginning", "--until-end", "--json"]
    out, _ = ours(capfd, broker, *arguments, "--property", "value.deserializer=IntegerDeserializer")
    assert '"value": "5"' in out


def test_a_file_gives_properties_below_those_of_flags(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    send(broker, "from-file", [b"v"])
    (tmp_path / "f").write_text("print.key=true\nkey.separator=:\nprint.offset=true\n")
    arguments = ["--topic", "from-file", "--from-beginning", "--until-end", "--formatter-config", str(tmp_path / "f")]
    assert ours(capfd, broker, *arguments, "--property", "print.offset=false")[0] == "v:v\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--formatter", "com.example.Mine"], "com.example.Mine is an unknown formatter; known are Default"),
        (["--value-deserializer", "com.example.Avro"], "com.example.Avro is an unknown deserializer; known are"),
        (["--formatter", "NoOpMessageFormatter", "--json"], "--formatter and --json cannot be used together"),
    ],
)
def test_what_is_not_known_is_wrong_usage(
    broker: InProcessBroker, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert said in " ".join(ours(capfd, broker, "--topic", "text", *arguments, code=2)[1].split())


@pytest.mark.parametrize("name", DESERIALIZERS)
def test_deserializers_end_in_a_text_or_in_their_error(name: str) -> None:
    rng = random.Random(7)
    read = deserializer_of(f"{SERIALIZATION}.{name}Deserializer")
    for _ in range(2_000):
        data = rng.randbytes(rng.choice([0, 1, 2, 4, 8, 16, 36]))
        with contextlib.suppress(DeserializationError):  # and no other error
            assert isinstance(read(data), bytes)
