"""Declaration, call and registry of ops, and helpers that all families share."""

from gpugraph.ops.framework import identity_and_shape
