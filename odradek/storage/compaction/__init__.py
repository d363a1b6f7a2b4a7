"""Compaction of a log: the rules of Kafka's cleaner, shared by the broker's cleaner and by the offline job."""
