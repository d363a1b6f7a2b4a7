"""A broker that lost its only directory starts with an empty one, and copies everything before it is in sync."""

import shutil
from pathlib import Path

import pytest

from support.brokers.our_cluster import OurCluster
from support.kafka.real_kafka import CLUSTER_ID

pytestmark = pytest.mark.ci

RECORDS = 500
LOST, LEFT = 2, 1


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_empty_directory_is_filled_from_the_leaders(tmp_path: Path, how: str) -> None:
    """Acknowledged records survive when the other broker is lost afterwards."""
    values = {str(number) for number in range(RECORDS)}
    with OurCluster(tmp_path, 2, {"replica.fetch.backoff.ms": "100"}) as cluster:
        cluster.create("t", [[LOST, LEFT]])
        cluster.until_in_sync("t", {LOST, LEFT})
        cluster.produce("t", values)
        lost = cluster[LOST]
        if how == "stopped":
            assert lost.stop() == 0
        else:
            lost.kill()
            cluster.until_fenced(LOST)
        shutil.rmtree(lost.log_dir)
        lost.program = (*lost.program, "--cluster-id", CLUSTER_ID)
        lost.start()
        cluster.until_in_sync("t", {LOST, LEFT})
        cluster[LEFT].kill()
        cluster.until_fenced(LEFT)
        assert cluster.partition("t").leader == LOST
        assert cluster.read("t", RECORDS) == values
        assert " ERROR " not in lost.log()
