"""The broker: configuration, listeners, request handlers, coordinators, metadata and the daemon."""
