"""Placement: assigns a device to every op, and inserts a Send and a Recv if a tensor passes from
one device to another.
"""
