"""Queues, and what else runs of a session hand to each other and may wait for.

Accumulators of gradients, staging areas and barriers.
"""
