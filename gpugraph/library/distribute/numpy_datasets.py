"""Datasets of NumPy arrays. The rows are in variables, not in constants of the graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugraph.base import nest
from gpugraph.building.variables import ResourceVariable
from gpugraph.graph.client.default_graph_functions import device, init_scope
from gpugraph.library.data.dataset_versions import DatasetV1
from gpugraph.ops.arrays.constants_and_placeholders import zeros


def numpy_dataset(numpy_input: Any, where: str, session: Any) -> DatasetV1:
    """Return a dataset of the rows of arrays.

    The rows are in variables on the device `where`. `session` assigns their values. Raises
    AssertionError if there is no session.
    """
    if session is None:
        raise AssertionError("experimental_make_numpy_dataset(arrays, session=session) needs the "
                             "session that is to hold the arrays")  # fmt: skip
    arrays = [np.asarray(array) for array in nest.flatten(numpy_input)]
    variables = [_variable_of(array, where, session) for array in arrays]
    dataset: DatasetV1 = DatasetV1.from_tensor_slices(nest.pack_sequence_as(numpy_input, variables))
    return dataset


def _variable_of(array: np.ndarray, where: str, session: Any) -> ResourceVariable:
    with init_scope(), device(where):
        variable = ResourceVariable(
            lambda: zeros(array.shape, array.dtype), trainable=False, dtype=array.dtype
        )
    variable.load(array, session)
    return variable
