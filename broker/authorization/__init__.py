"""What each API asks the authorizer before it is served, and how it answers what is denied (AuthHelper, KafkaApis)."""
