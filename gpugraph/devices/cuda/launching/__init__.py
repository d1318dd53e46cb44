"""Launching: the work that is enqueued on a GPU's stream, namely programs, copies, matrix products
and handwritten kernels.
"""
