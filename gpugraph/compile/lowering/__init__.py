"""Lowering: from the client's graph to nodes, with resource variables as reference variables, and
the order of reads, writes and collectives made explicit.
"""
