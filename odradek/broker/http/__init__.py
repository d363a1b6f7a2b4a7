"""The HTTP/1.1 server of metrics, console and test-broker. h11 has the protocol, and only this imports it."""
