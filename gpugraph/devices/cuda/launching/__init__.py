"""Launching: the commands that are enqueued on a GPU's stream. These are generated programs,
copies, matrix products and handwritten kernels.
"""
