"""`tf.contrib.autograph`: an older path to the names of `tf.autograph` and of its modules."""

from gpugraph.building.autograph.function_conversion import (
    convert as convert, converted_call as converted_call, do_not_convert as do_not_convert,
)
from gpugraph.building.autograph.autograph_functions import (
    to_code as to_code, to_graph as to_graph,
)
from gpugraph.building.autograph.error_translation import AutoGraphError as AutoGraphError
from gpugraph.building.autograph.list_operators import (
    set_element_type as set_element_type, stack as stack, tensor_list as tensor_list,
)
from gpugraph.building.autograph.loop_options import (
    Feature as Feature, set_loop_options as set_loop_options,
)
