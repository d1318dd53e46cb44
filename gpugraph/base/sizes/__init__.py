"""Open sizes: sizes of tensors that remain variables in a compiled plan (see `size_traces`)."""

from gpugraph.base.sizes.size_arrays import (
    as_whole_numbers as as_whole_numbers,
    has_open_sizes as has_open_sizes,
    size_array as size_array,
)
from gpugraph.base.sizes.size_bounds import least_of as least_of, varies as varies
from gpugraph.base.sizes.size_functions import (
    estimates as estimates,
    has_several as has_several,
    hint_of_shape as hint_of_shape,
    is_open as is_open,
    may_vanish as may_vanish,
    range_bounds as range_bounds,
    range_length as range_length,
    whole as whole,
)
from gpugraph.base.sizes.size_literals import (
    OpenSizeError as OpenSizeError,
    literals_refused as literals_refused,
)
from gpugraph.base.sizes.size_registers import FedSizes as FedSizes, SizeRegisters as SizeRegisters
from gpugraph.base.sizes.size_traces import Size as Size, SizeTrace as SizeTrace, hint as hint
from gpugraph.base.sizes.size_values import SizeValues as SizeValues, text_of as text_of
