"""Traffic of real clients is recorded, inspected, stored in a file and replayed."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.client.admin.acl_types import AclBinding, AclEntry, ResourcePattern
from odradek.protocol.security.acl_names import AclOperation, AclPermission, AclResourceType
from odradek.testing import BrokerSecurity, InProcessBroker, Traffic
from odradek.testing.inspection import run
from odradek.testing.traffic.recording import RecordingFullError


def produce(address: str, *values: str, **settings: Any) -> None:
    """Writes records to the topic orders with librdkafka one after another."""
    producer = Producer({"bootstrap.servers": address, "client.id": "shop", **settings})
    for value in values:
        producer.produce("orders", value.encode(), key=b"k")
        producer.flush()


def consume(address: str, count: int) -> list[bytes]:
    """Reads records in a group, and commits."""
    settings = {"bootstrap.servers": address, "client.id": "billing", "group.id": "billing"}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe(["orders"])
    found: list[bytes] = []
    while len(found) < count:
        found += [message.value() or b"" for message in consumer.consume(count - len(found), timeout=1)]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def a_session(kafka: InProcessBroker) -> Traffic:
    """Runs a producer and a member of a group."""
    with kafka.record() as traffic:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic("orders", 2)])["orders"].result()
        produce(kafka.bootstrap_servers, "one", "two", "three", **{"enable.idempotence": True})
        assert consume(kafka.bootstrap_servers, 3) == [b"one", b"two", b"three"]
    return traffic


def test_what_clients_send_and_what_they_are_answered(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    fault = kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders")
    with kafka.record() as traffic:
        produce(kafka.bootstrap_servers, "one")
    produce(kafka.bootstrap_servers, "not recorded")
    failed, served = traffic.requests("Produce", client_id="shop")
    assert fault.fired == 1
    assert failed.errors == ["NOT_LEADER_OR_FOLLOWER"]
    assert str(failed).startswith(f"#{failed.number} Produce v")
    assert str(failed).endswith("(shop): NOT_LEADER_OR_FOLLOWER")
    assert served.errors == []
    (topic,) = served.request["topicData"]
    (partition,) = topic["partitionData"]
    assert partition["records"][0]["records"][0]["value"] == "one"
    assert served.response is not None
    assert served.response["responses"][0]["partitionResponses"][0]["baseOffset"] == 0
    assert {one.client_id for one in traffic} == {"shop"}  # without the requests of create_topic
    assert traffic.requests("Fetch") == []
    assert len(str(traffic).splitlines()) == len(traffic)


def test_a_session_is_replayed_and_a_difference_is_readable(kafka: InProcessBroker, tmp_path: Path) -> None:
    recorded = a_session(kafka)
    recorded.save(tmp_path / "session.jsonl")
    traffic = Traffic.load(tmp_path / "session.jsonl")
    assert traffic.text() == recorded.text()
    kafka.reset()
    kafka.create_topic("another")  # so that ids differ, too
    same = traffic.replay(kafka.bootstrap_servers, ignore=["Metadata"])
    same.check()
    assert same.compared > 20
    assert [record.value for record in kafka.records("orders")] == [b"one", b"two", b"three"]
    assert sum(kafka.committed("billing").values()) == 3

    kafka.reset()
    kafka.faults.fail("OffsetCommit", "UNKNOWN_MEMBER_ID", times=1)
    other = traffic.replay(kafka.bootstrap_servers)
    commit = traffic.requests("OffsetCommit")[0]
    assert f"    {path_of(commit)}.errorCode: recorded NONE, replayed UNKNOWN_MEMBER_ID" in str(other).splitlines()
    assert {one.number for one in other.differences} == {commit.number}
    with pytest.raises(AssertionError, match=f"1 of {same.compared} answers differ, 0 requests could not be sent"):
        other.check()


def path_of(commit: Any) -> str:
    """The place of the first partition in an answer to OffsetCommit."""
    topic = commit.response["topics"][0]
    return f"topics[name={topic['name']}].partitions[partitionIndex={topic['partitions'][0]['partitionIndex']}]"


def test_transactions_are_replayed_with_other_producer_ids(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    with kafka.record() as traffic:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "t"})
        producer.init_transactions()
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            producer.produce("orders", end.__name__.encode())
            producer.flush()
            end()
    kafka.reset()
    kafka.create_topic("orders")
    produce(kafka.bootstrap_servers, **{"enable.idempotence": True})
    Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "other"}).init_transactions()
    result = traffic.replay(kafka.bootstrap_servers)
    result.check()
    committed = kafka.records("orders", isolation_level="read_committed")
    assert [record.value for record in committed] == [b"commit_transaction"]


def test_the_file_is_for_people_and_diff(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    with kafka.record() as traffic:
        produce(kafka.bootstrap_servers, "one", acks=0)
        traffic.wait_for("Produce")
    lines = [json.loads(line) for line in traffic.text().splitlines()]
    assert lines[0] == {"odradek_traffic": 1}
    (produced,) = [line for line in lines if line.get("api") == "Produce" and "request" in line]
    assert list(produced) == ["number", "api", "version", "connection", "client_id", "request", "time"]
    assert produced["request"]["topicData"][0]["partitionData"][0]["records"][0]["records"][0]["key"] == "k"
    (answer,) = [line for line in lines if line.get("answer_to") == produced["number"]]
    assert list(answer) == ["answer_to", "api", "answer", "time"]
    assert answer["answer"] is None  # acks=0 has no answer
    assert "no answer expected" in str(traffic)
    kafka.reset()
    kafka.create_topic("orders")
    traffic.replay(kafka.bootstrap_servers).check()
    assert [record.value for record in kafka.consume("orders")] == [b"one"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "traffic is empty"),
        ("{}", "line 1: not a recording"),
        ('{"odradek_traffic": 2}', "line 1: this version reads format 1, not 2"),
        ('{"odradek_traffic": 1}\n[]', "line 2: a line must be an object"),
        ('{"odradek_traffic": 1}\n{"request": {}}', "line 2: 'number' is missing"),
        (
            '{"odradek_traffic": 1}\n{"answer_to": 3, "answer": null, "time": "x"}',
            "line 2: the answer to 3 comes before",
        ),
    ],
)
def test_a_file_that_is_not_a_recording(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Traffic.parse(text)


def test_a_closed_connection_is_an_answer(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    kafka.faults.disconnect("Produce", topic="orders")
    with kafka.record() as traffic:
        produce(kafka.bootstrap_servers, "one")
    closed, served = traffic.requests("Produce")
    assert closed.closed == "the connection closed at Produce (topic orders), as the test requested"
    assert (closed.response, served.closed) == (None, None)
    kafka.reset()
    kafka.create_topic("orders")
    again = traffic.replay(kafka.bootstrap_servers)
    assert f"recorded connection closed: {closed.closed}, replayed an answer" in str(again)


def test_a_full_recording_refuses_to_be_looked_at(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    with kafka.record(max_bytes=20_000) as traffic:
        produce(kafka.bootstrap_servers, "x" * 50_000)
    with pytest.raises(RecordingFullError, match="20000 bytes"):
        traffic.requests("Produce")
    with pytest.raises(RecordingFullError):
        traffic.text()


def test_waiting_says_what_came(kafka: InProcessBroker) -> None:
    with kafka.record() as traffic:
        AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "admin"}).list_topics()
        with pytest.raises(
            TimeoutError, match=r"(?s)0 of 1 Fetch requests.*recorded so far:.*Metadata v.*\(admin\): ok"
        ):
            traffic.wait_for("Fetch", timeout_s=0.1)


def test_secrets_are_hidden_and_not_replayed(kafka: InProcessBroker) -> None:
    from odradek.client.admin import Admin
    from odradek.client.admin.scram_users import ScramUpsertion

    async def make_a_user() -> None:
        async with Admin(kafka.bootstrap_servers) as admin:
            await admin.alter_user_scram_credentials([ScramUpsertion("alice", "SCRAM-SHA-256", "secret")])

    with kafka.record() as traffic:
        run(make_a_user())
    (altered,) = traffic.requests("AlterUserScramCredentials")
    (upsertion,) = altered.request["upsertions"]
    assert (upsertion["salt"], upsertion["saltedPassword"]) == ("[hidden]", "[hidden]")
    kafka.reset()
    result = traffic.replay(kafka.bootstrap_servers)
    assert [(one.number, reason) for one, reason in result.skipped] == [
        (altered.number, "its secrets were not recorded")
    ]
    with pytest.raises(AssertionError, match="not sent: its secrets"):
        result.check()


def test_denied_requests_and_logins(kafka_broker_factory: Any) -> None:
    entry = AclEntry("User:alice", "*", AclOperation.WRITE, AclPermission.ALLOW)
    acl = AclBinding(ResourcePattern(AclResourceType.TOPIC, "others"), entry)
    broker = kafka_broker_factory(security=BrokerSecurity(users={"alice": "alice-secret"}, acls=[acl]))
    broker.create_topic("orders")
    alice = broker.client("alice")
    with broker.record() as traffic:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, **alice.confluent_kafka})
        created = admin.create_topics([NewTopic("mine", 1)])["mine"]
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            created.result()
    (denied,) = traffic.requests("CreateTopics")
    assert denied.errors == ["TOPIC_AUTHORIZATION_FAILED"]
    traffic.replay(broker.bootstrap_servers, security=alice.java).check()


def test_two_recordings_at_once(kafka: InProcessBroker) -> None:
    kafka.create_topic("orders")
    with kafka.record() as whole:
        produce(kafka.bootstrap_servers, "one")
        with kafka.record() as second:
            produce(kafka.bootstrap_servers, "two")
    assert (len(whole.requests("Produce")), len(second.requests("Produce"))) == (2, 1)
    assert [one.number for one in second] == list(range(1, len(second) + 1))
