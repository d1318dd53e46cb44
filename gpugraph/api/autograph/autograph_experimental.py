"""`tf.autograph.experimental`: the optional features of conversion (`Feature`), a decorator that
excludes a function from conversion, and options of loops.
"""

from gpugraph.building.autograph.function_conversion import do_not_convert as do_not_convert
from gpugraph.building.autograph.loop_options import (
    Feature as Feature, set_loop_options as set_loop_options,
)
