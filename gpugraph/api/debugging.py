"""`tf.debugging`: assertions on values, shapes and dtypes, and checks for finite values."""

from gpugraph.api.shared.shared_checks import *
from gpugraph.config.process_settings import (
    get_log_device_placement as get_log_device_placement,
    set_log_device_placement as set_log_device_placement,
)
from gpugraph.building.checks import assert_shapes as assert_shapes
from gpugraph.building import checks as _checks

assert_all_finite = _checks.verify_tensor_all_finite
