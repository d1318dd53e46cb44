"""Queues and the other objects that runs of a session exchange values through and may wait for.

These are accumulators of gradients, staging areas and barriers.
"""
