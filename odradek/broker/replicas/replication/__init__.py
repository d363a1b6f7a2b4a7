"""Following leaders: fetches the records of partitions that other brokers lead, and appends them here.

Source: ReplicaFetcherThread, AbstractFetcherThread, ReplicaFetcherManager.
"""
