"""Launching: everything that is enqueued on a GPU's stream: programs, copies, matrix products and
handwritten kernels.
"""
