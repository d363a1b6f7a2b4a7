"""Replicas of other brokers' partitions on this one: what is fetched from leaders, and what becomes of it.

Source: ReplicaFetcherThread, AbstractFetcherThread, ReplicaFetcherManager.
"""
