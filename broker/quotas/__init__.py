"""Client quotas: how much clients may send, fetch and ask for, and how long those over it are muted (QuotaManagers)."""
