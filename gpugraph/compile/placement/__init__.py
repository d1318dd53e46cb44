"""Placement: assigns a device to every op, and inserts a Send and a Recv where a tensor is passed
between devices.
"""
