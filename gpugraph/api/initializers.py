"""`tf.initializers`: initializers of variables under their short names, such as `zeros` for
`tf.zeros_initializer`.
"""

from gpugraph.ops.random.variable_initializers import Initializer as Initializer
from gpugraph.ops.random.variable_initializers import (
    he_normal as he_normal, he_uniform as he_uniform, lecun_normal as lecun_normal,
    lecun_uniform as lecun_uniform,
)
from gpugraph.building.variables import tables_initializer as tables_initializer
from gpugraph.building import variables as _variables
from gpugraph.ops.random import variable_initializers as _variable_initializers

constant = _variable_initializers.Constant
global_variables = _variables.global_variables_initializer
glorot_normal = _variable_initializers.GlorotNormal
glorot_uniform = _variable_initializers.GlorotUniform
identity = _variable_initializers.Identity
local_variables = _variables.local_variables_initializer
ones = _variable_initializers.Ones
orthogonal = _variable_initializers.Orthogonal
random_normal = _variable_initializers.RandomNormal
random_uniform = _variable_initializers.RandomUniform
truncated_normal = _variable_initializers.TruncatedNormal
uniform_unit_scaling = _variable_initializers.UniformUnitScaling
variables = _variables.variables_initializer
variance_scaling = _variable_initializers.VarianceScaling
zeros = _variable_initializers.Zeros
