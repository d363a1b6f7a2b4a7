"""Client quotas: measure what clients use, and compute throttle times for clients over a quota (``QuotaManagers``)."""
