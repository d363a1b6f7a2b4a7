"""What only the broker knows, for its console: its log, its rebalances, its connections. Made while a console runs."""
