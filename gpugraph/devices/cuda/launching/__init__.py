"""Launching: commands that are enqueued on a GPU's stream. They run generated programs, copies,
matrix products and handwritten kernels.
"""
