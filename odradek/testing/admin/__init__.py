"""A broker for tests in any language: a real broker in a process of its own, and an HTTP port that controls it."""
