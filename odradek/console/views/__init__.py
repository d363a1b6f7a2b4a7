"""What the page asks for: functions that ask Kafka and return values of JSON."""
