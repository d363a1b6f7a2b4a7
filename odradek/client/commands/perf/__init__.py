"""``odradek perf``: what Kafka's three performance tools do, with their flags and output."""
