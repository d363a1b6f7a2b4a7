"""The client's side of a connection, without its socket. Pure."""
