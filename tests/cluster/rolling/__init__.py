"""Rolling replacement of Apache Kafka's brokers by ours: clients, load, and the places of brokers."""
