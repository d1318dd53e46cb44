"""NumPy kernels that are derived from the C expression or the terms of an op."""
