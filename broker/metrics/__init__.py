"""What the broker tells of itself to Prometheus: its metrics and the small HTTP server that shows them."""
