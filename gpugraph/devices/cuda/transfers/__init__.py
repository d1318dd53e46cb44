"""Transfers: arrays in a GPU's memory, and copies between them and the host."""
