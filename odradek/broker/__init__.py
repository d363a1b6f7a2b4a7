"""The broker: configuration, listeners, request handlers, coordinators, metadata, start and stop."""
