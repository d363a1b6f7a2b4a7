"""The broker's metrics for Prometheus, and the small HTTP server that serves them."""
