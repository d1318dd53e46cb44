"""Placement: a device for every op, and pairs of Send and Recv where tensors cross devices."""
