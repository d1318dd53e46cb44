"""Functions for files of models: HDF5 files in Keras's layout, configurations as JSON, and weights
as checkpoints.
"""
