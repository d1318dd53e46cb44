"""Launching: the work that is enqueued on a GPU's stream, that is, programs, copies, matrix
products and handwritten kernels.
"""
