"""An asyncio Kafka client (producer, consumer, admin) and the commands that use it."""
