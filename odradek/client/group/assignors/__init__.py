"""Kafka's assignors, with which a group's leader assigns partitions to members.

Pure. Only a member that is the leader imports the assignors; all members know their names. Invariant: the results equal
those of Kafka's own classes, partition by partition, so that it does not matter which client is the leader. Source:
``org.apache.kafka.clients.consumer.{Range,RoundRobin,Sticky,CooperativeSticky}Assignor``.
"""

ASSIGNOR_NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")
COOPERATIVE = frozenset({"cooperative-sticky"})
"""Assignors whose members keep their partitions during a rebalance (KIP-429)."""
