"""Transfers: arrays in a GPU's memory, and copies between these arrays and the host."""
