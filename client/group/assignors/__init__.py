"""How a group's leader shares partitions among members: Kafka's assignors by the names that go over the wire.

Pure, and imported only by the member that is the leader: the names alone are known without. Invariant: results equal to
Kafka's own classes, partition by partition, so that it does not matter which client leads. Source:
``org.apache.kafka.clients.consumer.{Range,RoundRobin,Sticky,CooperativeSticky}Assignor``.
"""

ASSIGNOR_NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
COOPERATIVE = frozenset({"cooperative-sticky"})
"""Assignors whose members keep their partitions while they join (KIP-429)."""
