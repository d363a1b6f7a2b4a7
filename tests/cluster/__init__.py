"""Tests of brokers in a cluster, and their helpers."""
