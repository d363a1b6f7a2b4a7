"""``odradek doctor``: tries what a client does, step by step, against any Kafka, and says what stops it."""
