"""Ops that read a dataset without an iterator: a single element, a reduction, the number of
elements.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gpugraph.base.errors import invalid_argument
from gpugraph.kernel import KernelContext
from gpugraph.ops.datasets.elements.dataset_declaration import FUNC, TYPES
from gpugraph.ops.datasets.elements.stage import Element, Function, Pipeline, stage_in
from gpugraph.ops.datasets.iterator_ops import declare_handle_op, infer_elements
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.framework.shape_functions import SCALAR
from gpugraph.ops.queues.handle_ops import Run, waiting_op


def _bind_single(context: KernelContext, dataset: Any) -> Run:
    def run() -> Element:
        pipeline = Pipeline()
        elements = stage_in(dataset).elements(pipeline)
        try:
            element = elements.next()
            if element is None:
                raise invalid_argument("Dataset was empty.")
            if elements.next() is not None:
                raise invalid_argument("Dataset had more than one element.")
            return element
        finally:
            pipeline.end()
            elements.close()
            pipeline.release()

    return run


def _bind_reduce(context: KernelContext, dataset: Any, *arrays: Any) -> Run:
    count = len(context.attrs["Tstate"])
    call = context.function(context.attrs["f"])

    def run() -> Element:
        state = tuple(np.array(array) for array in arrays[:count])
        pipeline = Pipeline()
        captured = [np.array(array) for array in arrays[count:]]
        function = Function(call, captured).started(pipeline)
        elements = stage_in(dataset).elements(pipeline)
        try:
            while (element := elements.next()) is not None:
                pipeline.check()
                state = function((*state, *element))
            return state
        finally:
            pipeline.end()
            elements.close()
            pipeline.release()

    return run


def _bind_cardinality(context: KernelContext, dataset: Any, out: Any) -> Run:
    def run() -> None:
        out[()] = stage_in(dataset).cardinality()

    return run


waiting_op(
    "DatasetToSingleElement", _bind_single, "The only element of a dataset.",
    inputs="dataset: variant", outputs="components: output_types", attrs=TYPES,
    infer=infer_elements,
)  # fmt: skip
_LIST = partial(Attr, "list(type)", required=True)
waiting_op(
    "ReduceDataset", _bind_reduce, "The last state of a function of a state and each element.",
    inputs="input_dataset: variant, initial_state: Tstate, other_arguments: Targuments",
    outputs="components: output_types", infer=infer_elements,
    attrs={
        "f": FUNC, "Tstate": _LIST(minimum=1), "Targuments": _LIST(minimum=0), **TYPES,
        "use_inter_op_parallelism": Attr("bool", True),
    },
)  # fmt: skip
for _op_type in ("DatasetCardinality", "ExperimentalDatasetCardinality"):
    declare_handle_op(
        _op_type, _bind_cardinality, "The number of elements of a dataset, if it is known.",
        inputs="input_dataset: variant", outputs="cardinality: int64",
        infer=lambda _: [SCALAR],
    )  # fmt: skip
