"""The HTTP/1.1 server of the metrics and of the console. h11 has the protocol, and only this imports it."""
