"""The transaction coordinator's decisions: transactional ids, their producers and the transactions they have open.

Pure: no socket, task, file or clock.
"""
