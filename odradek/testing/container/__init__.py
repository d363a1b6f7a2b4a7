"""A broker outside the test process: in a container, or at an address."""
