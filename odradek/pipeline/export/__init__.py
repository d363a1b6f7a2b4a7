"""Export of topics from log directories to Parquet."""
