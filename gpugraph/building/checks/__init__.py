"""Checks of tensors. They run at graph construction if the values are known then, and otherwise in
the run.

This module defines nothing. It imports names from other modules.
"""

from gpugraph.building.checks.element_assertions import (
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_greater_equal as assert_greater_equal,
    assert_less as assert_less,
    assert_less_equal as assert_less_equal,
    assert_near as assert_near,
    assert_negative as assert_negative,
    assert_non_negative as assert_non_negative,
    assert_non_positive as assert_non_positive,
    assert_none_equal as assert_none_equal,
    assert_positive as assert_positive,
)
from gpugraph.building.checks.finite_assertions import (
    add_check_numerics_ops as add_check_numerics_ops,
    verify_tensor_all_finite as verify_tensor_all_finite,
)
from gpugraph.building.checks.monotonicity import (
    is_non_decreasing as is_non_decreasing,
    is_strictly_increasing as is_strictly_increasing,
)
from gpugraph.building.checks.rank_assertions import (
    assert_rank as assert_rank,
    assert_rank_at_least as assert_rank_at_least,
    assert_rank_in as assert_rank_in,
    assert_scalar as assert_scalar,
)
from gpugraph.building.checks.shape_assertions import assert_shapes as assert_shapes
from gpugraph.building.checks.type_assertions import (
    assert_integer as assert_integer,
    assert_proper_iterable as assert_proper_iterable,
    assert_same_float_dtype as assert_same_float_dtype,
    assert_type as assert_type,
    is_numeric_tensor as is_numeric_tensor,
)
