"""Access to log directories: files, partitions, the cluster metadata in them."""
