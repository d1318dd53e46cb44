"""The class methods that create datasets: from tensors, generators, ranges and files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpugraph.base.dtypes import int32, int64, string
from gpugraph.base.errors import OpError
from gpugraph.base.fork_safe_locks import new_lock
from gpugraph.base.interruptions.signal_handlers import raised_by_handler
from gpugraph.base.shapes import TensorShape, as_shape
from gpugraph.building.functions.function_tracing import trace
from gpugraph.graph.client.default_graph_functions import get_default_graph
from gpugraph.graph.client.tensor import Tensor
from gpugraph.graph.client.tensor_spec import TensorSpec
from gpugraph.library.data import data_nest
from gpugraph.library.data.dataset_base import DatasetBase, int64_tensor
from gpugraph.library.data.element_structure import (
    flat_attrs,
    flat_shapes,
    flat_specs,
    from_legacy,
    normalize_element,
    parsed_types,
    to_batched_tensor_list,
    to_tensor_list,
    type_spec_from_value,
    unbatched,
)
from gpugraph.ops.control.py_func import as_op_error, py_func
from gpugraph.ops.files.read_and_write_file import matching_files
from gpugraph.ops.framework.numpy_conversion import constant_array
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class DatasetSources(DatasetBase):
    """A mixin with the class methods that create datasets."""

    @classmethod
    def from_tensors(cls, tensors: Any) -> Any:
        """Return a dataset whose only element is the structure `tensors`."""
        element = normalize_element(tensors)
        spec = type_spec_from_value(element)
        variant = raw_ops.TensorDataset(
            to_tensor_list(spec, element), output_shapes=flat_shapes(spec)
        )
        return cls._of(variant, spec)

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Any:
        """Return a dataset with one element for each row of the tensors.

        Raises ValueError if a tensor is a scalar, or if the numbers of rows differ.

        >>> dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3])
        >>> following = dataset.make_one_shot_iterator().get_next()
        >>> [int(session.run(following)) for _ in range(3)]
        [1, 2, 3]
        """
        element = normalize_element(tensors)
        whole = type_spec_from_value(element)
        rows = to_batched_tensor_list(whole, element)
        spec = unbatched(whole)
        _check_rows(rows)
        variant = raw_ops.TensorSliceDataset(rows, output_shapes=flat_shapes(spec))
        return cls._of(variant, spec)

    @classmethod
    def from_sparse_tensor_slices(cls, sparse_tensor: Any) -> Any:
        """Return a dataset with one element (indices, values, shape) for each row of a sparse
        tensor.
        """
        if not hasattr(sparse_tensor, "dense_shape"):
            raise TypeError(
                f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor}."
            )
        variant = raw_ops.SparseTensorSliceDataset(
            sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
        )
        rank = sparse_tensor.dense_shape.shape.sizes
        rank = None if rank is None or rank[0] is None else rank[0] - 1
        spec = (
            TensorSpec([None, rank], int64),
            TensorSpec([None], sparse_tensor.dtype),
            TensorSpec([rank], int64),
        )
        return cls._of(variant, spec)

    @classmethod
    def range(cls, *args: Any) -> Any:
        """Return a dataset of int64 numbers. The method has the arguments of Python's `range`.

        >>> following = tf.data.Dataset.range(4).batch(2).make_one_shot_iterator().get_next()
        >>> session.run(following), session.run(following)
        (array([0, 1]), array([2, 3]))
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        spec = TensorSpec([], int64)
        variant = raw_ops.RangeDataset(
            int64_tensor(start, "start"),
            int64_tensor(stop, "stop"),
            int64_tensor(step, "step"),
            **flat_attrs(spec),
        )
        return cls._of(variant, spec)

    @classmethod
    def from_generator(
        cls, generator: Callable[..., Any], output_types: Any, output_shapes: Any = None,
        args: Any = None,
    ) -> Any:  # fmt: skip
        """Return a dataset of the elements that a Python generator yields.

        A run raises InvalidArgumentError if an element has another structure, dtype or shape than
        `output_types` and `output_shapes` specify.

        Args:
          generator: a function that is called with the values of `args` at the start of each
            iteration, and returns an iterable.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        types = parsed_types(output_types)
        if output_shapes is None:
            shapes = data_nest.map_structure(lambda _: TensorShape(None), types)
        else:
            shapes = data_nest.map_structure_up_to(types, as_shape, output_shapes)
        classes = data_nest.map_structure(lambda _: Tensor, types)
        spec = from_legacy(types, shapes, classes)
        arguments = () if args is None else tuple(convert_to_tensor(arg) for arg in args)
        state = _Generators(generator, spec)
        graph = get_default_graph()
        functions: dict[str, Any] = {
            "init": trace(
                lambda: py_func(state.start, list(arguments), int64),
                [], "generator_init",
            ),
            "next": trace(state.next_element, [TensorSpec([], int64)], "generator_next"),
            "finalize": trace(
                lambda number: py_func(state.end, [number], int64), [TensorSpec([], int64)],
                "generator_finalize",
            ),
        }  # fmt: skip
        for function in functions.values():
            function.add_to(graph)
        functions["next"].graph.python_call = state.step
        functions["finalize"].graph.python_call = state.end
        variant = raw_ops.GeneratorDataset(
            *(functions[name].graph.captured for name in ("init", "next", "finalize")),
            **{f"{name}_func": function for name, function in functions.items()},
            **flat_attrs(spec),
        )
        return cls._of(variant, spec)

    @classmethod
    def zip(cls, datasets: Any) -> Any:
        """Return a dataset whose elements combine one element of each dataset in a structure."""
        for dataset in data_nest.flatten(datasets):
            if not isinstance(dataset, DatasetBase):
                if isinstance(dataset, list):
                    raise TypeError(
                        "The argument to `Dataset.zip()` must be a nested structure of `Dataset` "
                        "objects. Nested structures do not support Python lists; please use a "
                        "tuple instead."
                    )
                raise TypeError(
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` "
                    "objects."
                )
        flat = data_nest.flatten(datasets)
        spec = data_nest.pack_sequence_as(datasets, [one.element_spec for one in flat])
        variant = raw_ops.ZipDataset([one._variant_tensor for one in flat], **flat_attrs(spec))
        return cls._of(variant, spec, flat)

    @classmethod
    def list_files(cls, file_pattern: Any, shuffle: bool | None = None, seed: Any = None) -> Any:
        """Return a dataset of the paths of the files that match the patterns. By default, the order
        of the paths is random.

        A run raises InvalidArgumentError if no file matches.
        """
        if shuffle is None:
            shuffle = True
        pattern = convert_to_tensor(file_pattern, dtype=string, name="file_pattern")
        names = matching_files(pattern)
        is_any = raw_ops.Greater(raw_ops.Shape(names)[0], 0, name="match_not_empty")
        axes = convert_to_tensor(list(range(pattern.shape.rank or 0)), int32)
        text = raw_ops.ReduceJoin(pattern, axes, separator=", ")
        message = raw_ops.StringJoin(["No files matched pattern: ", text])
        check = raw_ops.Assert(is_any, [message], name="assert_not_empty")
        with get_default_graph().control_dependencies([check]):
            names = raw_ops.Identity(names)
        dataset = cls.from_tensor_slices(names)
        if shuffle:
            count = raw_ops.Maximum(raw_ops.Shape(names, out_type=int64)[0], np.int64(1))
            dataset = dataset.shuffle(count, seed=seed)
        return dataset


def _check_rows(rows: list[Tensor]) -> None:
    count = rows[0].shape[0] if rows[0].shape.rank else None
    for tensor in rows[1:]:
        if tensor.shape.rank and count is not None:
            count.assert_is_compatible_with(tensor.shape[0])


_numbers = itertools.count()


class _Generators:
    """The running generators of one `from_generator` dataset, by number. The dataset's ops call
    these methods.

    Args:
      generator: the function that starts a generator.
      spec: the structure of specs of the elements.
    """

    def __init__(self, generator: Callable[..., Any], spec: Any) -> None:
        self.generator, self.spec = generator, spec
        self.specs = flat_specs(spec)
        self.types = data_nest.map_structure(lambda one: one.dtype, spec)
        self.is_plain = not data_nest.is_sequence(spec)
        self.running: dict[int, Any] = {}
        self._lock = new_lock()

    def start(self, *values: Any) -> Any:
        """Start a generator with the values of `args`. Return the generator's number."""
        number = next(_numbers)
        iterator = iter(self.generator(*values))
        with self._lock:
            self.running[number] = iterator
        return np.int64(number)

    def end(self, number: Any) -> Any:
        """Close a generator and forget it."""
        with self._lock:
            iterator = self.running.pop(int(number), None)
        if hasattr(iterator, "close"):
            iterator.close()
        return np.int64(0)

    def next_element(self, number: Tensor) -> Any:
        """Add the op that returns the next element of a generator."""
        results = py_func(self._next, [number], [one.dtype for one in self.specs])
        for tensor, one in zip(results, self.specs):
            tensor.set_shape(one.shape)
        return results

    def _next(self, number: Any) -> list[Any]:
        return self.arrays(next(self.running[int(number)]))

    def step(self, number: Any) -> list[Any]:
        """Return the arrays of the next element of generator `number`.

        Python exceptions become TensorFlow's errors. Dataset pipelines call this method directly,
        because that is faster than running the ops that `next_element` adds.
        """
        return as_op_errors(lambda: self._next(number))

    def arrays(self, values: Any) -> list[Any]:
        """Return the arrays of an element that a generator has yielded.

        Raises TypeError if the element's structure or a dtype is wrong, and ValueError if a shape
        is wrong.
        """
        if self.is_plain:
            flat = [values]
        else:
            try:
                flat = data_nest.flatten_up_to(self.types, values)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    "`generator` yielded an element that did not match the expected structure. The "
                    f"expected structure was {self.types}, but the yielded element was {values}."
                ) from error
        return [_array(value, one, values) for value, one in zip(flat, self.specs)]


def _array(value: Any, spec: TensorSpec, values: Any) -> Any:
    dtype = spec.dtype
    try:
        wanted = dtype.as_numpy_dtype
        if type(value) is np.ndarray and value.dtype == wanted and wanted is not object:
            array = value
        elif dtype == string:
            array = constant_array(np.array(value, object), string)
        else:
            array = np.asarray(value)
            if array.dtype != wanted:
                if array.size == 0 and not isinstance(value, np.ndarray):
                    array = array.astype(wanted)  # NumPy's dtype of an empty list means nothing
                if array.dtype.kind in "OSU" or not np.can_cast(array.dtype, wanted, "same_kind"):
                    raise TypeError("dtype")
                array = array.astype(wanted)
    except (TypeError, ValueError) as error:
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. The "
            f"expected type was {dtype.name}, but the yielded element was {value}."
        ) from error
    if not spec.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"`generator` yielded an element of shape {array.shape} where an element of shape "
            f"{spec.shape} was expected."
        )
    return array


def as_op_errors(call: Callable[[], Any]) -> Any:
    """Call a Python function and return its result. Convert its exceptions to an `OpError`, as
    py_func does.
    """
    try:
        return call()
    except OpError:
        raise
    except Exception as error:
        if raised_by_handler(error):
            raise
        raise as_op_error(error) from error
