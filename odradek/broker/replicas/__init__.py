"""The partitions that this broker hosts, and appends to their logs. Kafka: ``ReplicaManager``, ``Partition``."""
