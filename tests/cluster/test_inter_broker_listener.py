"""A broker whose inter-broker listener the others do not have logs that. It loses nothing, but cannot follow them."""

from pathlib import Path

import pytest

from support.brokers.our_cluster import OurCluster
from support.eventually import eventually

pytestmark = pytest.mark.ci

ODD, OTHER = 2, 1
RECORDS = 200
TWO_LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,PEERS://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PEERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PEERS",
}
QUICK = {"replica.lag.time.max.ms": "1500", "replica.fetch.backoff.ms": "100", "min.insync.replicas": "1"}
SAID = (
    "can't fetch from broker 1: it has no listener PEERS: inter.broker.listener.name must be a listener of every broker"
)


def test_listener_that_others_lack_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    """acks=all continues without the replica. With the right listener it copies the missing records."""
    values = {str(number) for number in range(RECORDS)}
    with OurCluster(tmp_path, 1, QUICK) as cluster:
        odd = cluster.add(ODD)
        right = dict(odd.configs)
        odd.configs.update(TWO_LISTENERS)
        odd.start()
        cluster.create("t", [[OTHER, ODD]])
        cluster.until_in_sync("t", {OTHER})
        cluster.produce("t", values)
        eventually("it says what is wrong", lambda: SAID in odd.log())
        assert cluster.read("t", RECORDS) == values
        assert odd.stop() == 0
        odd.configs = right
        odd.start()
        cluster.until_in_sync("t", {OTHER, ODD})
        cluster[OTHER].kill()
        cluster.until_fenced(OTHER)
        assert cluster.partition("t").leader == ODD
        assert cluster.read("t", RECORDS) == values
