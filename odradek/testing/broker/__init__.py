"""A broker in a thread of the test process."""
