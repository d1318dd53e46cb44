"""`tf.contrib.framework`, except for `arg_scope` and the variables of models.

`checkpoint_functions` reads checkpoints, `restorable_variables` selects and assigns variables,
`device_chooser` distributes variables over devices, `static_choices` has conditionals that are
resolved during graph construction if possible, `graph_names` finds scopes, graphs and placeholders,
`tensor_checks` checks tensors and shapes, and `bounded_tensor_spec` has a TensorSpec with bounds.
"""

from gpugraph.graph.client.scoped_names import (
    prepend_name_scope as prepend_name_scope,
    strip_name_scope as strip_name_scope,
)
from gpugraph.library.contrib.framework.bounded_tensor_spec import (
    BoundedTensorSpec as BoundedTensorSpec,
)
from gpugraph.library.contrib.framework.checkpoint_functions import (
    assign_from_checkpoint as assign_from_checkpoint,
    assign_from_checkpoint_fn as assign_from_checkpoint_fn,
    init_from_checkpoint as init_from_checkpoint,
    list_variables as list_variables,
    load_checkpoint as load_checkpoint,
    load_linear_multiclass_bias_initializer as load_linear_multiclass_bias_initializer,
    load_variable as load_variable,
    load_variable_slot_initializer as load_variable_slot_initializer,
)
from gpugraph.library.contrib.framework.device_chooser import (
    VariableDeviceChooser as VariableDeviceChooser,
)
from gpugraph.library.contrib.framework.graph_names import (
    get_graph_from_inputs as get_graph_from_inputs,
    get_name_scope as get_name_scope,
    get_placeholders as get_placeholders,
)
from gpugraph.library.contrib.framework.restorable_variables import (
    assign_from_values as assign_from_values,
    assign_from_values_fn as assign_from_values_fn,
    filter_variables as filter_variables,
    get_variable_full_name as get_variable_full_name,
    get_variables_to_restore as get_variables_to_restore,
    global_variable as global_variable,
    local_variable as local_variable,
    zero_initializer as zero_initializer,
)
from gpugraph.library.contrib.framework.static_choices import (
    smart_case as smart_case,
    smart_cond as smart_cond,
    smart_constant_value as smart_constant_value,
)
from gpugraph.library.contrib.framework.tensor_checks import (
    assert_or_get_global_step as assert_or_get_global_step,
    assert_scalar as assert_scalar,
    assert_scalar_int as assert_scalar_int,
    reduce_sum_n as reduce_sum_n,
    remove_squeezable_dimensions as remove_squeezable_dimensions,
    with_same_shape as with_same_shape,
    with_shape as with_shape,
)
