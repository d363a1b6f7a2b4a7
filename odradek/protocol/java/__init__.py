"""What Kafka takes from Java: hash codes, the properties format."""
