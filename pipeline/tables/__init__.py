"""Rows of what lies in log directories besides records: batches, groups, metadata, indexes and so on."""
