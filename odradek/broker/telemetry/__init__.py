"""Metrics that clients push (KIP-714): subscriptions, client instances, what is read from a push."""
