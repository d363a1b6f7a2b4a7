"""The lags of share groups, as Kafka's own tool prints them."""

from support.kafka.java import run_class

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


def share_lags(bootstrap_servers: str) -> dict[tuple[str, str, int], str]:
    """Group, topic and partition -> lag; "-" if the group has not begun to read the partition. Raises
    JavaMissingError.
    """
    described = run_class(SHARE_GROUPS, "--bootstrap-server", bootstrap_servers, "--describe", "--all-groups")
    assert described.returncode == 0, described
    rows = [line.split() for line in described.stdout.splitlines() if not line.startswith("GROUP ")]
    return {(row[0], row[1], int(row[2])): row[4] for row in rows if row}
