"""Threads that work together: a coordinator, threads that loop, and runners of queues."""
