"""Examples and tensors in messages: parsed to tensors, and tensors as messages."""

from gpugraph.ops.parsing import (
    json_examples as json_examples,
    parse_example as parse_example,
    parse_sequence_example as parse_sequence_example,
    parsing_functions as parsing_functions,
    sequence_functions as sequence_functions,
    serialized_sparse as serialized_sparse,
    serialized_tensors as serialized_tensors,
)
