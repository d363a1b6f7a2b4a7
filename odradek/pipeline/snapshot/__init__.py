"""Snapshots of the log directories of a running broker, and their restore.

Owns: what a snapshot holds, its manifest, copying. Never does: reading batches. Source: our own; Kafka has none.
"""
