"""Tables of the data in log directories other than records: batches, groups, metadata, indexes and so on."""
