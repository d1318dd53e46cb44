"""`tf.compat.v2`: the few names of TensorFlow 2 that programs for TensorFlow 1 use."""

from gpugraph.api.v2 import data_v2 as _data_v2, nn_v2 as _nn_v2
from gpugraph.building.compatibility.version_2_functions import name_scope as name_scope
from gpugraph.graph import device_names as _device_names
from gpugraph.building.variables import replication_modes as _replication_modes

DeviceSpec = _device_names.DeviceSpecV2
VariableAggregation = _replication_modes.VariableAggregationV2
data = _data_v2
nn = _nn_v2
