"""Lowering: the translation of the client's graph to nodes. Resource variables become reference
variables, and the order of reads, writes and collectives becomes explicit.
"""
