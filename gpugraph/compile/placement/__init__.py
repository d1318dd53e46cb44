"""Placement: a device for every op, and Send and Recv between devices."""
