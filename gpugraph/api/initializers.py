"""Initializers of variables, by both of TensorFlow's spellings."""

from gpugraph.ops.random.variable_initializers import Constant as constant
from gpugraph.ops.random.variable_initializers import GlorotNormal as glorot_normal
from gpugraph.ops.random.variable_initializers import GlorotUniform as glorot_uniform
from gpugraph.ops.random.variable_initializers import Identity as identity
from gpugraph.ops.random.variable_initializers import Initializer as Initializer
from gpugraph.ops.random.variable_initializers import Ones as ones
from gpugraph.ops.random.variable_initializers import Orthogonal as orthogonal
from gpugraph.ops.random.variable_initializers import RandomNormal as random_normal
from gpugraph.ops.random.variable_initializers import RandomUniform as random_uniform
from gpugraph.ops.random.variable_initializers import TruncatedNormal as truncated_normal
from gpugraph.ops.random.variable_initializers import UniformUnitScaling as uniform_unit_scaling
from gpugraph.ops.random.variable_initializers import VarianceScaling as variance_scaling
from gpugraph.ops.random.variable_initializers import Zeros as zeros
from gpugraph.ops.random.variable_initializers import (
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from gpugraph.variables import global_variables_initializer as global_variables
from gpugraph.variables import local_variables_initializer as local_variables
from gpugraph.variables import tables_initializer
from gpugraph.variables import variables_initializer as variables

__all__ = [
    "Initializer",
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "tables_initializer",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
