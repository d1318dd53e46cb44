"""`tf.autograph.experimental`: the features of conversions, and the options of loops."""

from gpugraph.building.autograph.function_conversion import do_not_convert as do_not_convert
from gpugraph.building.autograph.loop_options import (
    Feature as Feature, set_loop_options as set_loop_options,
)
