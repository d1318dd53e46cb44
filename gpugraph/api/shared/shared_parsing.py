"""The names that are in `tf` and in `tf.io`: parsing of Examples, serialization of
SparseTensors.
"""

from gpugraph.ops.parsing.feature_kinds import (
    FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature, VarLenFeature as VarLenFeature,
)
from gpugraph.ops.parsing.json_examples import decode_json_example as decode_json_example
from gpugraph.ops.parsing.parsing_functions import (
    parse_example as parse_example, parse_single_example as parse_single_example,
)
from gpugraph.ops.parsing.sequence_functions import (
    parse_single_sequence_example as parse_single_sequence_example,
)
from gpugraph.ops.parsing.serialized_sparse import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse, serialize_sparse as serialize_sparse,
)
from gpugraph.ops.parsing.serialized_tensors import (
    parse_tensor as parse_tensor, serialize_tensor as serialize_tensor,
)
