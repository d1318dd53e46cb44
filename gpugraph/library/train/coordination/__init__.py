"""Cooperating threads: a coordinator, threads that call a function repeatedly, and queue
runners.
"""
