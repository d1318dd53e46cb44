"""The work that is enqueued on a GPU's stream: programs, copies, matrix products, kernels."""
