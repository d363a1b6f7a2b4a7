"""Reads records from log directories, without Spark: options, splits, pruning, positions, rows."""
