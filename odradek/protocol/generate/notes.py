"""Short meanings of fields by name, for the docstrings of generated classes. Pure.

Only names that mean the same in every message are listed.
"""

FIELD_NOTES = {
    "acks": "the replicas that must have the records: -1 all in sync, 1 the leader, 0 without an answer",
    "broker_epoch": "the epoch of the broker's registration",
    "current_leader_epoch": "the leader epoch that the sender knows, -1 for none",
    "error_code": "an ErrorCode, 0 for success",
    "error_message": "a text for people",
    "generation_id": "counts the rebalances of the group",
    "group_instance_id": "the name of a static member (KIP-345), null for a dynamic one",
    "high_watermark": "the end of the records that all in-sync replicas have",
    "incarnation_id": "is new at each start of the process",
    "isolation_level": "0 reads all records, 1 only committed ones",
    "last_stable_offset": "the end of the records that readers of committed records see",
    "leader_epoch": "counts the changes of the leader",
    "log_start_offset": "the first offset that is not deleted",
    "member_epoch": "counts the assignments that the member has taken over (KIP-848)",
    "producer_epoch": "fences earlier instances of the producer",
    "producer_id": "the id of an idempotent or transactional producer",
    "rebalance_timeout_ms": "how long members have to join, or to give up partitions",
    "session_timeout_ms": "how long a member may be silent before it is removed",
    "subtopology_id": "the part of a Streams topology that runs in one task",
    "throttle_time_ms": "how long the client should wait before its next request, because of a quota",
    "topic_id": "the id of the topic, which a new topic of the same name does not share (KIP-516)",
    "transactional_id": "the name of a transactional producer, the same after its restart",
    "validate_only": "checks the request and changes nothing",
}
"""Field name -> its meaning, as the end of a sentence."""
