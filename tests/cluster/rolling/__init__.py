"""Rolling exchanges of Apache Kafka's brokers for ours: clients, load, and the brokers' places."""
