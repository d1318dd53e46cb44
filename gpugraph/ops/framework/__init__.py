"""How ops are declared, called and registered, and what all families' kernels are made of."""

from gpugraph.ops.framework import identity_and_shape
