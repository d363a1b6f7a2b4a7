"""A pytest plugin and an in-process broker for the tests of our users."""
