"""Placement: a device for every op, and a Send and a Recv where a tensor crosses devices."""
