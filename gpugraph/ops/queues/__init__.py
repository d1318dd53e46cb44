"""Queues, and other objects of a session through which runs exchange values.

The other objects are accumulators of gradients, staging areas and barriers. A run may block until
another run adds or removes a value.
"""
