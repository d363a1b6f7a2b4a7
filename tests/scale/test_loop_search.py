"""A search of client scripts that hold the broker's event loop for the longest time (Linux).

Evolution: scripts are changed, and those with the longest turn of the loop stay. ``make test-long-loop`` searches for
``LOOP_SEARCH_S`` seconds, from ``LOOP_SEARCH_SEED``. The longest finds are printed with the line that replays them:
``LOOP_SCRIPT='...' pytest tests/scale/test_loop_search.py -k given_script``.
"""

import contextlib
import json
import os
import random
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scale.loop_scripts import PASSWORD, Script, Target, mutated, play, random_action
from scale.measured_broker import MeasuredBroker
from support.brokers.free_ports import free_ports
from support.security.handshakes import End
from support.security.tls_files import TlsFiles, tls_files

LONGEST_MS = 50.0
"""The goal of docs/limits.md."""
SEARCH_S = float(os.environ.get("LOOP_SEARCH_S", "3600"))
SEED = int(os.environ.get("LOOP_SEARCH_SEED", "1"))
POPULATION = 16
PLAYS = 3
"""A find counts with its shortest turn of several plays: another process may spoil a cache, a collection of garbage may
be due."""
PLAYS_OF_A_BROKER = 150
MODULES = "org.apache.kafka.common.security"
PLAIN_MODULE = f"{MODULES}.plain.PlainLoginModule"

REGRESSIONS: dict[str, Script] = {
    "KeyUpdates of forty connections": (("tls-logged-in", "key-updates", 40, 1 << 16, 1),),
    "records of one byte": (("tls-logged-in", "tiny-data", 40, 1 << 16, 1),),
    "KeyUpdates between records of one byte": (("tls-logged-in", "mixed", 4, 1 << 17, 5),),
    "half handshakes at the metrics": (("metrics", "hello", 100, 1, 1), ("metrics", "hello", 100, 1, 2)),
    "frames of no bytes": (("plain", "empty", 4, 1 << 20, 756531),),
    "pipelined requests of twenty connections": (("sasl-logged-in", "wide", 20, 1 << 15, 29333),),
    "a ClientHello in records of one byte": (("tls", "hello-in-bytes", 100, 1 << 17, 1),),
}
"""The best finds, and what was known before. Each held the loop for more than 50 ms once."""


class Search:
    """Brokers that play scripts, one after another."""

    def __init__(self, files: TlsFiles, folder: Path) -> None:
        self._files, self._folder = files, folder
        self._stack = ExitStack()
        self._plays = 0
        self._broker: MeasuredBroker | None = None
        self._target: Target | None = None

    def longest_ms(self, script: Script, plays: int = 1) -> float:
        """The longest turn while a script is played; the shortest of several plays."""
        found = []
        for _ in range(plays):
            broker, target = self._ready()
            broker.measure()
            play(script, target)
            self._settle()
            found.append(broker.longest_turn_ms())
        return min(found)

    def close(self) -> None:
        """Stops the broker."""
        self._stack.close()

    def _settle(self) -> None:
        """Waits until the broker has no more work: it answers a request at once."""
        assert self._target is not None
        with contextlib.suppress(OSError), self._target.open("plain") as one:
            one.sendall(bytes.fromhex("0000000e0012000000000001000462656e63"))
            one.recv(4)
        self._target.close()

    def _ready(self) -> tuple[MeasuredBroker, Target]:
        """A broker that has not played many scripts yet."""
        if self._plays % PLAYS_OF_A_BROKER == 0 or self._broker is None or self._broker.process.poll() is not None:
            self._stack.close()
            self._start(self._folder / f"broker-{self._plays}")
        self._plays += 1
        assert self._broker is not None
        assert self._target is not None
        return self._broker, self._target

    def _start(self, folder: Path) -> None:
        folder.mkdir()
        plain, tls, sasl, metrics = free_ports(4)
        configs = {
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{tls},USERS://127.0.0.1:{sasl}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,USERS:SASL_PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.users.plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_alice="{PASSWORD}";',
            "listener.name.users.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
            "listener.name.users.scram-sha-512.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
            "connection.failed.authentication.delay.ms": "1",
            "group.initial.rebalance.delay.ms": "0",
            "odradek.metrics.listener": f"127.0.0.1:{metrics}",
            "odradek.metrics.ssl.enable": "true",
            **self._files.listener(client_auth="requested"),
        }
        broker = MeasuredBroker(folder, configs)
        broker.start()
        self._stack.callback(broker.kill)
        broker.port = plain
        hello = End(ssl.create_default_context(cafile=self._files.trust), "localhost").step()
        ports = {"plain": plain, "tls": tls, "sasl": sasl, "metrics": metrics}
        self._broker, self._target = broker, Target(ports, self._files.trust, hello)
        warm: Script = (("plain", "requests", 4, 1 << 17, 1), ("tls", "hello", 4, 1, 1), ("metrics", "http", 2, 1, 1))
        for _ in range(3):
            play(warm, self._target)  # modules and codecs are made with the first request that needs them
            self._settle()


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Search]:
    made = Search(tls_files(tmp_path_factory.mktemp("tls")), tmp_path_factory.mktemp("search"))
    yield made
    made.close()


def replay_line(script: Script) -> str:
    return f"LOOP_SCRIPT='{json.dumps(script)}' pytest tests/scale/test_loop_search.py -k given_script"


@pytest.mark.long
def test_no_script_that_is_found_holds_the_loop(search: Search, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(SEED)
    found: dict[Script, float] = {script: search.longest_ms(script) for script in REGRESSIONS.values()}
    until, tried = time.monotonic() + SEARCH_S, 0
    while time.monotonic() < until:
        tried += 1
        if rng.random() < 0.25:
            script: Script = tuple(random_action(rng) for _ in range(rng.choice((1, 1, 2, 3))))
        else:
            script = mutated(rng.choice(list(found)), rng.choice(list(found)), rng)
        if script in found:
            continue
        least = min(found.values())
        took = search.longest_ms(script)
        if took > least:
            took = min(took, search.longest_ms(script, PLAYS - 1))
        found[script] = took
        if len(found) > POPULATION:
            del found[min(found, key=found.__getitem__)]
    best = sorted(found.items(), key=lambda one: -one[1])
    with capsys.disabled():
        print(f"\n{tried} scripts from seed {SEED} in {SEARCH_S:.0f} s; the longest turns of the event loop:")
        for script, took in best[:10]:
            print(f"{took:6.1f} ms  {replay_line(script)}")
    too_long = [f"{took:.1f} ms: {replay_line(script)}" for script, took in best if took > LONGEST_MS]
    assert not too_long, "\n".join(too_long)


@pytest.mark.ci
@pytest.mark.parametrize("name", REGRESSIONS)
def test_known_scripts_do_not_hold_the_loop(search: Search, name: str) -> None:
    assert search.longest_ms(REGRESSIONS[name], PLAYS) < LONGEST_MS


@pytest.mark.long
@pytest.mark.skipif("LOOP_SCRIPT" not in os.environ, reason="replays one script")
def test_a_given_script(search: Search, capsys: pytest.CaptureFixture[str]) -> None:
    script = tuple((str(a), str(b), int(c), int(d), int(e)) for a, b, c, d, e in json.loads(os.environ["LOOP_SCRIPT"]))
    took = search.longest_ms(script, PLAYS)
    with capsys.disabled():
        print(f"\n{took:.1f} ms")
    assert took < LONGEST_MS
