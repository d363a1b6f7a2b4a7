"""The checks of each API before it is served, and its answers for denied resources. Source: AuthHelper, KafkaApis."""
