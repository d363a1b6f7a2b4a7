"""Our client logs in to a real Kafka with each security protocol and mechanism, and is refused."""

import asyncio
import base64
from typing import Any

import pytest

from odradek.client.admin import Admin, ScramUpsertion
from odradek.client.consumer import Consumer
from odradek.client.errors import AuthenticationError, BrokerConnectionError, NoBrokersAvailableError
from odradek.client.producer import Producer
from odradek.client.security.secured import secured_of
from support.security.secured_kafka import PASSWORDS, SESSION_MS, SecuredKafka, sasl

pytestmark = pytest.mark.java

LOGINS = [
    ("SSL", ""),
    ("SASL_PLAINTEXT", "PLAIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ("SASL_PLAINTEXT", "OAUTHBEARER"),
    ("SASL_SSL", "PLAIN"),
    ("SASL_SSL", "SCRAM-SHA-512"),
]


@pytest.fixture(scope="module", autouse=True)
def scram_users(secured: SecuredKafka) -> None:
    """Creates the users of PLAIN with the same passwords for SCRAM."""

    async def make() -> None:
        async with Admin(secured.bootstrap_servers) as admin:
            for user, password in PASSWORDS.items():
                for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                    await admin.alter_user_scram_credentials([ScramUpsertion(user, mechanism, password)])

    asyncio.run(make())


async def round_trip(servers: str, topic: str, security: Any) -> None:
    """Produces a record and reads it in a group."""
    async with Producer(servers, security=security) as producer:
        await producer.send_and_wait(topic, b"value")
    async with Consumer(
        topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest", security=security
    ) as consumer:
        async for record in consumer:
            assert record.value == b"value"
            break
        await consumer.commit()


async def log_in_for_ever(servers: str, security: dict[str, str]) -> None:
    """Logs in repeatedly until the broker has learned of a change and refuses."""
    while True:
        async with Admin(servers, security=security):
            pass


@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
@pytest.mark.parametrize("user", ["bob"])
async def test_records_go_and_come(secured: SecuredKafka, name: str, listener: str, mechanism: str, user: str) -> None:
    """The password of bob has characters that JAAS and SCRAM escape."""
    await round_trip(secured.address(listener), name, secured.client(listener, mechanism, user))


async def test_a_token_provider_is_asked_for_each_login(secured: SecuredKafka, name: str) -> None:
    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    asked = []

    async def token() -> str:
        asked.append(1)
        header, claims = part('{"alg":"none"}'), part('{"sub":"carol","exp":9999999999}')
        return f"{header}.{claims}."

    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    security = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": module,
    }
    await round_trip(secured.address("SASL_PLAINTEXT"), name, secured_of(security, token))
    assert len(asked) >= 2


async def test_a_delegation_token_logs_in(secured: SecuredKafka, name: str) -> None:
    servers = secured.address("SASL_PLAINTEXT")
    async with Admin(servers, security=secured.client("SASL_PLAINTEXT", "SCRAM-SHA-256")) as admin:
        token = await admin.create_delegation_token(renewers=["User:bob"], max_lifetime_ms=600_000)
        assert (token.owner, token.requester, token.renewers) == ("User:alice", "User:alice", ("User:bob",))
        while token not in await admin.describe_delegation_tokens():
            pass  # the broker learns of it a moment after its controller
        assert base64.b64encode(token.hmac).decode() not in repr(token)
        assert repr(token.hmac) not in repr(token)
    password = base64.b64encode(token.hmac).decode()
    by_token = {
        "security.protocol": "SASL_PLAINTEXT",
        **sasl("SCRAM-SHA-256", token.token_id, password, tokenauth="true"),
    }
    await round_trip(servers, name, by_token)
    async with Admin(servers, security=secured.client("SASL_PLAINTEXT", "SCRAM-SHA-256", "bob")) as admin:
        assert await admin.renew_delegation_token(token.hmac) > token.issue_ms
        await admin.expire_delegation_token(token.hmac)
    with pytest.raises(AuthenticationError):
        await log_in_for_ever(servers, by_token)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
async def test_a_wrong_password_is_final_and_is_not_repeated(secured: SecuredKafka, mechanism: str) -> None:
    """The error names broker, mechanism and user, not the password."""
    servers = secured.address("SASL_PLAINTEXT")
    security = secured.client("SASL_PLAINTEXT", mechanism, password="not-this-one")
    for client in (Admin(servers, security=security), Producer(servers, security=security)):
        with pytest.raises(AuthenticationError) as caught:
            await client.start()
        assert f"{servers} ({mechanism}, user 'alice') refuses the login: Authentication failed" in str(caught.value)
        assert "not-this-one" not in str(caught.value)


async def test_a_mechanism_that_the_broker_does_not_have(secured: SecuredKafka) -> None:
    settings = secured.client("SASL_PLAINTEXT")
    async with Admin(secured.bootstrap_servers, security={"security.protocol": "PLAINTEXT"}) as admin:
        assert (await admin.describe_cluster()).cluster_id
    with pytest.raises(AuthenticationError, match="refuses the handshake: ILLEGAL_SASL_STATE"):
        async with Admin(secured.bootstrap_servers, security=settings):
            pass


async def test_an_unknown_authority_and_a_wrong_name_are_refused(secured: SecuredKafka) -> None:
    settings = secured.client("SASL_SSL")
    untrusted = {key: text for key, text in settings.items() if not key.startswith("ssl.truststore")}
    with pytest.raises(AuthenticationError, match=r"TLS with .* failed: .*ssl.truststore.location"):
        await Admin(secured.address("SASL_SSL"), security=untrusted).start()
    other = f"localhost.localdomain:{secured.ports['SASL_SSL']}".replace("localhost.localdomain", "127.0.0.2")
    with pytest.raises(NoBrokersAvailableError):
        await Admin(other, security=settings).start()


async def test_a_listener_that_wants_a_certificate_says_so(secured: SecuredKafka) -> None:
    settings = secured.client("SSL")
    without = {key: text for key, text in settings.items() if not key.startswith("ssl.keystore")}
    with pytest.raises(AuthenticationError, match="certificate"):
        await Admin(secured.address("SSL"), security=without).start()


@pytest.mark.parametrize(
    ("listener", "protocol", "message"),
    [
        ("SASL_SSL", "PLAINTEXT", "the listener requires TLS"),
        ("SASL_PLAINTEXT", "PLAINTEXT", "if the listener requires SASL, set security.protocol"),
        ("SASL_PLAINTEXT", "SSL", "TLS"),
    ],
)
async def test_a_wrong_protocol_names_the_setting(
    secured: SecuredKafka, listener: str, protocol: str, message: str
) -> None:
    with pytest.raises((BrokerConnectionError, AuthenticationError), match=message):
        await Admin(secured.address(listener), security={"security.protocol": protocol}).start()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512", "OAUTHBEARER"])
async def test_a_session_is_renewed_before_it_ends(secured: SecuredKafka, name: str, mechanism: str) -> None:
    """Records are sent during three sessions, over connections that stay open, with several requests in flight."""
    servers = secured.address("SHORT")
    async with Producer(servers, security=secured.client("SHORT", mechanism), linger_ms=0) as producer:
        await producer.send_and_wait(name, b"first")
        [connection] = [one for (node, _), one in producer._cluster._connections.items() if node == 1]
        loop_time = connection._loop.time
        end = loop_time() + 3 * SESSION_MS / 1000
        count = 1
        while loop_time() < end:
            futures = [await producer.send(name, b"%d" % number) for number in range(20)]
            for future in futures:
                await future
            count += len(futures)
        assert connection.is_open, "the broker closes a connection whose session has ended"
        assert connection._exchange.renew_at_s is not None
        assert connection._exchange.renew_at_s > end
    async with Consumer(bootstrap_servers=servers, security=secured.client("SHORT", mechanism)) as consumer:
        partitions = await consumer.partitions_for_topic(name)
        assert partitions == [0]


async def test_a_login_that_is_refused_later_reaches_producer_and_consumer(secured: SecuredKafka, name: str) -> None:
    """The password changes while both run. Their next renewal is refused, and every later call raises that error."""
    servers, mechanism = secured.address("SHORT"), "SCRAM-SHA-256"
    async with Admin(secured.bootstrap_servers) as admin:
        await admin.alter_user_scram_credentials([ScramUpsertion("erin", mechanism, "first-secret")])
        settings = secured.client("SHORT", mechanism, "erin", "first-secret")
        await log_in_when_known(servers, settings)
        async with (
            Producer(servers, security=settings, linger_ms=0) as producer,
            Consumer(name, bootstrap_servers=servers, group_id=name, security=settings) as consumer,
        ):
            await producer.send_and_wait(name, b"value")
            await consumer.poll(10)
            await admin.alter_user_scram_credentials([ScramUpsertion("erin", mechanism, "second-secret")])
            with pytest.raises(AuthenticationError, match="user 'erin'"):
                await send_for_ever(producer, name)
            with pytest.raises(AuthenticationError, match="user 'erin'"):
                await poll_for_ever(consumer)
            with pytest.raises(AuthenticationError):
                await producer.send(name, b"more")


async def log_in_when_known(servers: str, settings: dict[str, str]) -> None:
    """Logs in once the broker has learned of a user, which is a moment after its controller."""
    while True:
        try:
            async with Admin(servers, security=settings):
                return
        except AuthenticationError:
            continue


async def send_for_ever(producer: Producer, topic: str) -> None:
    while True:
        await producer.send_and_wait(topic, b"value")


async def poll_for_ever(consumer: Consumer) -> None:
    while True:
        await consumer.poll(50)
