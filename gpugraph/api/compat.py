"""`tf.compat`: conversions between strings and bytes, and the modules `compat.v1` (the whole
package) and `compat.v2`.
"""

from gpugraph.api import v2 as v2
from gpugraph.base.dimensions import dimension_value as dimension_value
from gpugraph.base.shapes import dimension_at_index as dimension_at_index
from gpugraph.building.compatibility.tensorflow_versions import (
    as_bytes as as_bytes,
    as_str as as_str,
    as_str_any as as_str_any,
    as_text as as_text,
    bytes_or_text_types as bytes_or_text_types,
    complex_types as complex_types,
    forward_compatibility_horizon as forward_compatibility_horizon,
    forward_compatible as forward_compatible,
    integral_types as integral_types,
    path_to_str as path_to_str,
    real_types as real_types,
    v1 as v1,
)
