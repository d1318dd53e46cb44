"""`tf.autograph.experimental`: `Feature`, the optional features of a conversion, and functions that
exclude a function from conversion or set options of a loop.
"""

from gpugraph.building.autograph.function_conversion import do_not_convert as do_not_convert
from gpugraph.building.autograph.loop_options import (
    Feature as Feature, set_loop_options as set_loop_options,
)
