"""A real Kafka and Odradek agree when delegation tokens, re-authentications and new certificates race with each other.

Random steps on a few connections of a SASL_SSL listener: logins by password and by token, re-authentications as the
same user, as another and by another token, requests, tokens that are made and expired, passwords that change, users
that are removed, and certificates that are replaced, also between the accept of a connection and its handshake. Both
brokers must answer each step alike. Odradek must show the certificate that was the newest at the accept; Kafka's
network threads take over a new one each at its own time. ``RACE_SEED=SEED pytest tests/parity/test_login_races.py``
replays a failing seed.
"""

import hashlib
import os
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography import x509

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.security import (
    AlterUserScramCredentialsRequest,
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    DescribeUserScramCredentialsRequest,
    ExpireDelegationTokenRequest,
)
from odradek.protocol.security.scram import MECHANISMS
from odradek.testing.security.certificates import CertificateAuthority
from support.brokers.free_ports import free_ports
from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

SEEDS = [int(os.environ["RACE_SEED"])] if "RACE_SEED" in os.environ else range(3)
STEPS = int(os.environ.get("RACE_STEPS", "60"))
LINES = range(3)
USERS = ("alice", "bob")
MECHANISM = MECHANISMS["SCRAM-SHA-256"]
AGAIN_AFTER_S = 1.1
"""Kafka refuses a re-authentication within a second of the last one."""
STORE = "listener.name.users.ssl.keystore.location"
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion
Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion


class TlsLine(SaslLine):
    """A connection over TLS. Its handshake is a step of its own."""

    def __init__(self, port: int, trust: str) -> None:
        super().__init__(port)
        self._trust = trust
        self.newest = 0
        """The number of the newest certificate at the accept."""
        self.since = 0.0

    def shake_hands(self) -> int:
        """Does the handshake; returns the serial number of the broker's certificate."""
        context = ssl.create_default_context(cafile=self._trust)
        wrapped = context.wrap_socket(self.socket, server_hostname="localhost")
        self.socket = wrapped
        shown = wrapped.getpeercert(binary_form=True)
        assert shown is not None
        return x509.load_der_x509_certificate(shown).serial_number


class Side:
    """One broker, its connections, tokens and certificates."""

    def __init__(self, port: int, secured: int, folder: Path, authority: CertificateAuthority, is_kafka: bool) -> None:
        self.secured, self.folder, self.authority = secured, folder, authority
        self.is_kafka = is_kafka
        self.admin = SaslLine(port)
        self.lines: dict[int, TlsLine] = {}
        self.tokens: list[Any] = []
        self.passwords: dict[str, str] = {}
        self.serials: list[int] = []
        self.trust = str(folder / "trust.pem")

    def close(self) -> None:
        for line in (self.admin, *self.lines.values()):
            line.close()

    # Steps. Each returns what must be equal.

    def connect(self, number: int) -> object:
        if number in self.lines:
            self.lines.pop(number).close()
        line = self.lines[number] = TlsLine(self.secured, self.trust)
        line.newest = len(self.serials) - 1
        return None

    def log_in(self, number: int, user: str, token: int | None) -> object:
        """The first login of a connection, after its handshake, or a later one."""
        line = self.lines.get(number)
        if line is None:
            return "no connection"
        if not isinstance(line.socket, ssl.SSLSocket):
            certificate = self.serials.index(line.shake_hands())
            assert certificate == line.newest or self.is_kafka
        wait_s = line.since + AGAIN_AFTER_S - time.monotonic()
        if line.since and wait_s > 0:
            eventually("a second has passed", lambda: time.monotonic() > line.since + AGAIN_AFTER_S)
        if token is not None and token >= len(self.tokens):
            return "no token"
        try:
            if token is None:
                line.scram(user, self.passwords.get(user, "unknown"))
            else:
                made = self.tokens[token]
                line.by_token(made.token_id, made.hmac)
        except (LoginFailed, EOFError, ConnectionError) as error:
            line.close()
            del self.lines[number]
            return type(error).__name__, str(error) if isinstance(error, LoginFailed) else ""
        line.since = time.monotonic()
        return "session", line.session_ms > 0

    def request(self, number: int) -> object:
        line = self.lines.get(number)
        if line is None or not isinstance(line.socket, ssl.SSLSocket):
            return "no connection"
        try:
            return len(line.ask(MetadataRequest([]), 12).brokers)
        except (EOFError, ConnectionError):
            del self.lines[number]
            return "closed"

    def create_token(self, number: int) -> object:
        line = self.lines.get(number)
        if line is None or not isinstance(line.socket, ssl.SSLSocket):
            return "no connection"
        try:
            made = line.ask(CreateDelegationTokenRequest(None, None, [], 100_000_000), 3)
        except (EOFError, ConnectionError):
            del self.lines[number]
            return "closed"
        if not made.error_code:
            self.tokens.append(made)
            self._wait_for_token(number, made, is_there=True)
        return made.error_code, made.principal_name

    def expire_token(self, number: int, token: int) -> object:
        line = self.lines.get(number)
        if line is None or not isinstance(line.socket, ssl.SSLSocket) or token >= len(self.tokens):
            return "no connection or token"
        made = self.tokens[token]
        try:
            answer = line.ask(ExpireDelegationTokenRequest(made.hmac, -1), 2)
        except (EOFError, ConnectionError):
            del self.lines[number]
            return "closed"
        if not answer.error_code:
            self._wait_for_token(number, made, is_there=False)
        return answer.error_code

    def _wait_for_token(self, number: int, made: Any, *, is_there: bool) -> None:
        def is_known() -> bool:
            answer = self.lines[number].ask(DescribeDelegationTokenRequest(None), 3)
            return (made.token_id in [one.token_id for one in answer.tokens]) is is_there

        eventually("the change of the token is known", is_known)

    def set_password(self, user: str, iterations: int) -> object:
        password = f"password-{iterations}"
        salt = f"{user}{iterations}".encode()
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
        request = AlterUserScramCredentialsRequest([], [Upsertion(user, MECHANISM.type, iterations, salt, salted)])
        answer = self.admin.ask(request, 0)
        self.passwords[user] = password
        eventually("the password is known", lambda: self._iterations(user) == iterations)
        return [one.error_code for one in answer.results]

    def remove_user(self, user: str) -> object:
        answer = self.admin.ask(AlterUserScramCredentialsRequest([Deletion(user, MECHANISM.type)], []), 0)
        eventually("the user is gone", lambda: self._iterations(user) is None)
        return [one.error_code for one in answer.results]

    def _iterations(self, user: str) -> int | None:
        names = [DescribeUserScramCredentialsRequest.UserName(user)]
        [result] = self.admin.ask(DescribeUserScramCredentialsRequest(names), 0).results
        return next((one.iterations for one in result.credential_infos), None)

    def renew_certificate(self) -> object:
        path = self.folder / f"server-{len(self.serials)}.pem"
        issued = self.authority.issue("broker", ("localhost", "127.0.0.1"))
        issued.write_pem(path)
        self.serials.append(issued.certificate.serial_number)
        if len(self.serials) == 1:
            return None
        config = IncrementalAlterConfigsRequest.AlterableConfig(STORE, 0, str(path))
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(4, "1", [config])
        answer = self.admin.ask(IncrementalAlterConfigsRequest([resource]), 1)
        eventually("the certificate is used", lambda: self._serial() == self.serials[-1])
        return [one.error_code for one in answer.responses]

    def _serial(self) -> int:
        line = TlsLine(self.secured, self.trust)
        try:
            return line.shake_hands()
        finally:
            line.close()


Step = Callable[[Side], object]


def random_step(random: Random) -> tuple[str, Step]:
    """One step, with words for it."""
    number, user, token = random.choice(LINES), random.choice(USERS), random.randrange(4)
    iterations = random.randrange(4096, 6000)
    by = random.choice((None, token))
    steps: list[tuple[int, str, Step]] = [
        (4, f"connect {number}", lambda side: side.connect(number)),
        (9, f"log in {number} as {user} by {by}", lambda side: side.log_in(number, user, by)),
        (6, f"request {number}", lambda side: side.request(number)),
        (4, f"create a token on {number}", lambda side: side.create_token(number)),
        (2, f"expire the token {token} on {number}", lambda side: side.expire_token(number, token)),
        (2, f"password of {user}: {iterations}", lambda side: side.set_password(user, iterations)),
        (1, f"remove {user}", lambda side: side.remove_user(user)),
        (2, "renew the certificate", lambda side: side.renew_certificate()),
    ]
    _, words, step = random.choices(steps, [weight for weight, _, _ in steps])[0]
    return words, step


CONFIG = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_SSL,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.users.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
    "listener.name.users.ssl.keystore.type": "PEM",
    "connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "1",
    "delegation.token.secret.key": "one key for all",
}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Our broker and a real Kafka, each with its own certificates."""
    with ExitStack() as stack:
        made = []
        for which in ("ours", "kafka"):
            folder = tmp_path_factory.mktemp(which)
            authority = CertificateAuthority("races")
            authority.write_pem(folder / "trust.pem")
            plain, secured, controller = free_ports(3)
            path = folder / "server-0.pem"
            issued = authority.issue("broker", ("localhost", "127.0.0.1"))
            issued.write_pem(path)
            listeners = f"PLAINTEXT://127.0.0.1:{plain},USERS://127.0.0.1:{secured}"
            configs = {**CONFIG, STORE: str(path)}
            if which == "ours":
                # On a busy machine a connection may wait for longer than 30 s between its accept and its login.
                patient = {"odradek.connection.authentication.timeout.ms": "600000"}
                ours = OurBroker(folder, {**configs, **patient, "listeners": listeners})
                stack.enter_context(ours)
            else:
                kafka = RealKafka(folder, {**configs, "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}"})
                kafka.port, kafka.controller_port = plain, controller
                stack.enter_context(kafka)
            side = Side(plain, secured, folder, authority, which == "kafka")
            side.serials.append(issued.certificate.serial_number)
            stack.callback(side.close)
            made.append(side)
        yield made[0], made[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_each_step_is_answered_alike(sides: tuple[Side, Side], seed: int) -> None:
    random = Random(seed)
    for side in sides:
        for user in USERS:
            side.set_password(user, 4096 + seed)
        for number in list(side.lines):
            side.lines.pop(number).close()
        side.tokens.clear()
    history = []
    for _ in range(STEPS):
        words, step = random_step(random)
        ours, theirs = (step(side) for side in sides)
        history.append(f"{words}: {theirs}")
        assert ours == theirs, "\n".join([*history, f"ours: {ours}", f"RACE_SEED={seed}"])
