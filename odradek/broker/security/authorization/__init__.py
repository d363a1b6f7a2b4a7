"""Authorization: checks each request before its handler, and answers denied resources (AuthHelper, KafkaApis)."""
