"""Checks: of elements, shapes, dtypes, and that tensors are finite."""

from gpugraph.api.shared.shared_checks import *
from gpugraph.checks import assert_shapes as assert_shapes
from gpugraph import checks as _checks

assert_all_finite = _checks.verify_tensor_all_finite
