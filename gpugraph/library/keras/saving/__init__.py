"""Models in files: Keras's HDF5 layout, configurations as JSON, weights as checkpoints."""
