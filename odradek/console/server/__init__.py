"""The HTTP side of the console: login, sessions, security, routing, event streams, the page."""
