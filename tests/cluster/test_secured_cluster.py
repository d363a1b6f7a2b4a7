"""A cluster in which every connection is secured: two brokers of ours and a real one, a real controller, ACLs.

With certificates, with SCRAM, and with OAUTHBEARER, for which a provider issues short-lived tokens.

Each node connects to the others with its own credentials, and only these are super users. A client gets its rights by
ACLs.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple, TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from odradek.broker.config.authorizer import STANDARD_AUTHORIZER
from odradek.broker.network.node_client import NodeClient, NodeSecurity
from odradek.protocol.messages.security import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.security.login_mechanisms import ClientLogin, OAuthBearerLogin, ScramLogin
from odradek.protocol.security.tls_context import TlsSettings, client_context
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers
from support.kafka.real_kafka import RealKafka
from support.security.identity_provider import AUDIENCE, ISSUER, IdentityProvider
from support.security.tls_files import ALICE_PRINCIPAL, TlsFiles, tls_files

pytestmark = [pytest.mark.java, pytest.mark.ci]

Answer = TypeVar("Answer", bound=Message)

OURS, ALSO_OURS, KAFKA = 1, 2, 3
RECORDS = 20


class SecuredCluster(NamedTuple):
    """``admin`` and ``alice``: the settings of librdkafka for the super user and for the client."""

    ours: OurBroker
    kafka: RealKafka
    admin: dict[str, Any]
    alice: dict[str, Any]
    alices_principal: str
    security: NodeSecurity
    """The properties of connections as the super user."""
    provider: IdentityProvider | None = None
    """Issues the tokens of nodes and clients, with OAUTHBEARER."""


SECRET, ALICES_SECRET = "of-the-brokers", "of-alice"
SCRAM = "SCRAM-SHA-512"
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTHBEARER = "OAUTHBEARER"
OAUTH = "org.apache.kafka.common.security.oauthbearer"
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
TOKEN_LIFETIME_S = 10


def common_keys(protocol: str, super_user: str) -> dict[str, str]:
    """The configs of all nodes: both listeners keep their names, and get this security protocol."""
    return {
        "listener.security.protocol.map": f"PLAINTEXT:{protocol},CONTROLLER:{protocol}",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": super_user,
        "delegation.token.secret.key": SECRET,
    }


def oauth_keys(provider: IdentityProvider) -> dict[str, str]:
    """Tokens from the provider, for nodes and clients."""
    keys = {
        "sasl.enabled.mechanisms": OAUTHBEARER,
        "sasl.mechanism.inter.broker.protocol": OAUTHBEARER,
        "sasl.mechanism.controller.protocol": OAUTHBEARER,
        "sasl.oauthbearer.jwks.endpoint.url": provider.jwks_url,
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "sasl.oauthbearer.client.credentials.client.id": "broker",
        "sasl.oauthbearer.client.credentials.client.secret": SECRET,
    }
    for listener in ("plaintext", "controller"):
        prefix = f"listener.name.{listener}.oauthbearer.sasl"
        keys[f"{prefix}.jaas.config"] = f"{OAUTH}.OAuthBearerLoginModule required;"
        keys[f"{prefix}.login.callback.handler.class"] = f"{OAUTH}.OAuthBearerLoginCallbackHandler"
        keys[f"{prefix}.server.callback.handler.class"] = f"{OAUTH}.OAuthBearerValidatorCallbackHandler"
    return keys


def oauth_client(files: TlsFiles, provider: IdentityProvider, name: str, secret: str) -> dict[str, Any]:
    """The settings of librdkafka, which gets tokens from the provider itself."""
    return {
        **files.librdkafka(with_key=False),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": OAUTHBEARER,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "sasl.oauthbearer.client.id": name,
        "sasl.oauthbearer.client.secret": secret,
    }


def scram_keys() -> dict[str, str]:
    """Sessions are short, so that every connection renews its own during the tests."""
    login = f'{MODULE} required username="broker" password="{SECRET}";'
    return {
        "sasl.enabled.mechanisms": SCRAM,
        "sasl.mechanism.inter.broker.protocol": SCRAM,
        "sasl.mechanism.controller.protocol": SCRAM,
        "connections.max.reauth.ms": "2000",
        **{f"listener.name.{one}.{SCRAM.lower()}.sasl.jaas.config": login for one in ("plaintext", "controller")},
    }


@pytest.fixture(scope="module", params=["SSL", "SASL_SSL", OAUTHBEARER])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    place = tmp_path_factory.mktemp("secured")
    files = tls_files(place)
    provider: IdentityProvider | None = None
    with ExitStack() as stack:
        if request.param == "SSL":
            keys = {**common_keys("SSL", "User:CN=broker"), **files.listener(client_auth="required")}
            (place / "broker.key").write_text(files.server.key_pem())
            (place / "broker.crt").write_text(files.server.chain_pem)
            admin: dict[str, Any] = {
                **files.librdkafka(with_key=False),
                "ssl.certificate.location": str(place / "broker.crt"),
                "ssl.key.location": str(place / "broker.key"),
            }
            alice: dict[str, Any] = files.librdkafka(with_key=True)
            controllers = RealControllers(place / "controllers", configs=keys)
        elif request.param == OAUTHBEARER:
            provider = stack.enter_context(
                IdentityProvider({"broker": SECRET, "alice": ALICES_SECRET}, TOKEN_LIFETIME_S)
            )
            urls = f"{provider.token_url},{provider.jwks_url}"
            stack.enter_context(pytest.MonkeyPatch.context()).setenv("JAVA_TOOL_OPTIONS", f"-D{ALLOWED_URLS}={urls}")
            keys = {**common_keys("SASL_SSL", "User:broker"), **files.listener(), **oauth_keys(provider)}
            admin = oauth_client(files, provider, "broker", SECRET)
            alice = oauth_client(files, provider, "alice", ALICES_SECRET)
            controllers = RealControllers(place / "controllers", configs=keys)
        else:
            keys = {**common_keys("SASL_SSL", "User:broker"), **files.listener(), **scram_keys()}
            admin = {
                **files.librdkafka(with_key=False),
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": SCRAM,
                "sasl.username": "broker",
                "sasl.password": SECRET,
            }
            alice = {**admin, "sasl.username": "alice", "sasl.password": ALICES_SECRET}
            user = f"--add-scram={SCRAM}=[name=broker,password={SECRET}]"
            controllers = RealControllers(place / "controllers", configs=keys, format_options=[user])
        stack.enter_context(controllers)
        keys["inter.broker.listener.name"] = "PLAINTEXT"
        ours = stack.enter_context(controllers.broker(place / "ours", OURS, keys))
        also_ours = stack.enter_context(controllers.broker(place / "also_ours", ALSO_OURS, keys))
        kafka = stack.enter_context(controllers.kafka_broker(place / "kafka", KAFKA, keys))
        brokers: list[OurBroker | RealKafka] = [ours, also_ours, kafka]
        servers = {"bootstrap.servers": ",".join(one.bootstrap_servers for one in brokers)}
        principal = ALICE_PRINCIPAL if request.param == "SSL" else "User:alice"
        tls = client_context(TlsSettings(files.listener()))
        security = NodeSecurity(lambda: tls, None if request.param == "SSL" else partial(log_in, provider))
        made = SecuredCluster(ours, kafka, {**admin, **servers}, {**alice, **servers}, principal, security, provider)
        if request.param == "SASL_SSL":
            create_alice(made)
        yield made


async def log_in(provider: IdentityProvider | None) -> ClientLogin:
    """A login of the super user."""
    if provider is not None:
        return OAuthBearerLogin(provider.token("broker"), {})
    return ScramLogin(SCRAM, "broker", SECRET, "nonce")


def create_alice(cluster: SecuredCluster) -> None:
    """Creates a user at our broker, which forwards the request to the controllers."""
    admin = AdminClient({**cluster.admin, "bootstrap.servers": cluster.ours.bootstrap_servers})
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion("alice", credential, ALICES_SECRET.encode())
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(60)


def allow(cluster: SecuredCluster, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    """Creates ACLs for the client."""
    acls = [
        AclBinding(
            kind,
            name,
            ResourcePatternType.LITERAL,
            cluster.alices_principal,
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    admin = AdminClient(cluster.admin)
    for future in admin.create_acls(acls).values():
        future.result(60)


def create(cluster: SecuredCluster, topic: str) -> None:
    """Creates a topic with replicas on all brokers and one partition led by each; returns when they are in sync."""
    admin = AdminClient(cluster.admin)
    replicas = [[OURS, ALSO_OURS, KAFKA], [ALSO_OURS, KAFKA, OURS], [KAFKA, OURS, ALSO_OURS]]
    for future in admin.create_topics([NewTopic(topic, 3, replica_assignment=replicas)]).values():
        future.result(60)

    def is_in_sync() -> bool:
        partitions = admin.list_topics(topic, timeout=60).topics[topic].partitions
        return len(partitions) == 3 and all(len(one.isrs) == 3 for one in partitions.values())

    eventually(f"{topic} is in sync", is_in_sync)


def write(cluster: SecuredCluster, topic: str, *values: str) -> list[KafkaError | None]:
    """Writes each value into all partitions as the client; returns the result of each record."""
    results: list[KafkaError | None] = []

    def wrote(error: KafkaError | None, _: object) -> None:
        results.append(error)

    producer = Producer({**cluster.alice, "acks": "all"})
    for value in values:
        for partition in range(3):
            producer.produce(topic, value, partition=partition, on_delivery=wrote)
    assert producer.flush(60) == 0
    return results


def let_write(cluster: SecuredCluster, topic: str) -> None:
    """Allows the client to write; returns when all brokers know this ACL, and those that were created before."""
    allow(cluster, ResourceType.TOPIC, topic, AclOperation.WRITE, AclOperation.READ)
    for server in cluster.alice["bootstrap.servers"].split(","):
        eventually(f"{server} knows the ACLs", partial(knows_acls_of, cluster, server, topic))


def ask(cluster: SecuredCluster, port: int, request: Message, response_type: type[Answer]) -> Answer:
    """Sends a request to one broker as the super user; returns the answer."""

    async def exchange() -> Answer:
        client = NodeClient("127.0.0.1", port, "test", cluster.security)
        answer = await client.send(request, response_type, 60)
        client.close()
        return answer

    return asyncio.run(exchange())


def knows_acls_of(cluster: SecuredCluster, server: str, topic: str) -> bool:
    """Whether a broker has ACLs of a topic."""
    request = DescribeAclsRequest(2, topic, 3, None, None, 1, 1)
    return bool(ask(cluster, int(server.partition(":")[2]), request, DescribeAclsResponse).resources)


def test_client_with_acls_works_and_one_without_is_refused(cluster: SecuredCluster) -> None:
    """Our broker follows the real one, leads it, registers and forwards requests over the secured listeners."""
    create(cluster, "orders")
    create(cluster, "hidden")
    allow(cluster, ResourceType.GROUP, "readers", AclOperation.READ)
    let_write(cluster, "orders")
    numbers = [str(number) for number in range(RECORDS)]
    assert write(cluster, "orders", *numbers) == [None] * 3 * RECORDS
    refused = write(cluster, "hidden", "no")
    assert [error and error.code() for error in refused] == [KafkaError.TOPIC_AUTHORIZATION_FAILED] * 3
    consumer = Consumer({**cluster.alice, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    values: set[bytes | None] = set()
    while not {number.encode() for number in numbers} <= values:
        message = consumer.poll(60)
        assert message is not None, values
        assert message.error() is None, message.error()
        values.add(message.value())
    consumer.close()


def test_transactions_have_partitions_of_all(cluster: SecuredCluster) -> None:
    """Markers and their verification use the secured listener, from every coordinator."""
    create(cluster, "payments")
    names = [f"payer-{number}" for number in range(6)]
    for name in names:
        allow(cluster, ResourceType.TRANSACTIONAL_ID, name, AclOperation.WRITE)
    let_write(cluster, "payments")
    for name in names:
        producer = Producer({**cluster.alice, "transactional.id": name})
        producer.init_transactions(60)
        producer.begin_transaction()
        for partition in range(3):
            producer.produce("payments", name, partition=partition)
        producer.commit_transaction(60)


def test_delegation_tokens_are_decided_by_the_controllers(cluster: SecuredCluster) -> None:
    """A token that is created, renewed and expired at ours is known at the real broker."""
    ours, kafka = cluster.ours.port, cluster.kafka.port
    created = ask(cluster, ours, CreateDelegationTokenRequest(), CreateDelegationTokenResponse)
    assert created.error_code == 0

    def is_renewed() -> bool:
        """Renews a token. The active controller knows it once it has replayed its record."""
        request = RenewDelegationTokenRequest(created.hmac, 60_000)
        return not ask(cluster, ours, request, RenewDelegationTokenResponse).error_code

    def is_known_at_the_real_one() -> bool:
        answer = ask(cluster, kafka, DescribeDelegationTokenRequest(None), DescribeDelegationTokenResponse)
        return created.token_id in [one.token_id for one in answer.tokens]

    eventually("the token is renewed", is_renewed)
    eventually("the real broker knows the token", is_known_at_the_real_one)
    expired = ask(cluster, ours, ExpireDelegationTokenRequest(created.hmac, -1), ExpireDelegationTokenResponse)
    assert expired.error_code == 0


def test_nodes_renew_tokens_and_sessions(cluster: SecuredCluster) -> None:
    """Tokens expire after 10 s. All nodes replace theirs, and renew their sessions without losing a connection."""
    if cluster.provider is None:
        return  # sessions of SCRAM end after 2 s; those of TLS do not end
    before = cluster.provider.given("broker")
    cluster.provider.wait_for("broker", before + 8)  # four nodes, each of ours for two listeners
    assert write(cluster, "orders", "later") == [None] * 3
    log = cluster.ours.log()
    assert "refuses the login" not in log
    assert log.count("registered with the controllers") == 1


def test_log_shows_no_secret_and_no_error(cluster: SecuredCluster) -> None:
    """The last test of this module: the log of our broker has no error and no private key."""
    log = cluster.ours.log()
    assert " ERROR " not in log
    for secret in ("PRIVATE KEY", SECRET, ALICES_SECRET):
        assert secret not in log
