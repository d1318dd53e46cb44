"""`tf.contrib.eager`: only the names that also work in graph mode, such as `defun` and
`py_func`.
"""

from gpugraph.building.compatibility.tensorflow_versions import (
    enable_eager_execution as enable_eager_execution,
)
from gpugraph.building.function_calls.polymorphic_function import (
    defun as defun, function as function,
)
from gpugraph.building.function_calls.python_function_ops import py_function as py_function
from gpugraph.building.gradients.custom_gradient import custom_gradient as custom_gradient
from gpugraph.building.trackable import AutoTrackable as AutoTrackable
from gpugraph.building.variable_scope.make_template import make_template as make_template
from gpugraph.building.variables.resource_variable import ResourceVariable as ResourceVariable
from gpugraph.graph.client.default_graph_functions import executing_eagerly as executing_eagerly
from gpugraph.graph.client.tensor_spec import TensorSpec as TensorSpec

Checkpointable = AutoTrackable
Variable = ResourceVariable
in_eager_mode = executing_eagerly
py_func = py_function
