"""One queue of timers and its clock, work in slices, and stalls of the event loop. Kafka: ``SystemTimer``."""
