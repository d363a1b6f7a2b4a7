"""One segment: batches, indexes, recovery. Kafka: ``LogSegment``, ``OffsetIndex``, ``TimeIndex``."""
