"""tf.map_fn, tf.foldl, tf.foldr and tf.scan: loops over the first axis of tensors.

Each function unstacks `elems` into TensorArrays. A `tf.while_loop` then reads one element in each
iteration. The results of all iterations are written to TensorArrays, which are stacked after the
loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpugraph.base.dimensions import Dimension
from gpugraph.base.dtypes import as_dtype
from gpugraph.base.named_function import named
from gpugraph.base.nest import assert_same_structure, flatten, pack_sequence_as
from gpugraph.base.shapes import TensorShape
from gpugraph.building.control_flow import while_loop
from gpugraph.graph.client.default_graph_functions import name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.identity_and_shape import shape
from gpugraph.ops.framework.tensor_conversion import constant, convert_to_tensor
from gpugraph.ops.tensor_arrays.tensor_array import TensorArray


class _Elements:
    """The elements of a loop: tensors in the structure of `elems`, and the size of their first
    axis.

    The constructor raises ValueError if there are no tensors, if a tensor is a scalar, or if the
    first sizes are known to differ.
    """

    def __init__(self, elems: Any) -> None:
        self.structure = elems
        self.tensors = [convert_to_tensor(elem, name="elem") for elem in flatten(elems)]
        if not self.tensors:
            raise ValueError("elems must hold at least one tensor")
        known = Dimension(None)
        for tensor in self.tensors:
            if tensor.shape.rank == 0:
                text = "elems must be a 1+ dimensional Tensor, not a scalar"
                if len(self.tensors) > 1:
                    text = "elements in elems must be 1+ dimensional Tensors, not scalars"
                raise ValueError(f"{text}: {tensor.name} is one")
            known = known.merge_with(tensor.shape[0])
        self.known = known.value
        first = self.tensors[0].shape
        static = first.sizes[0] if first.sizes is not None else None
        self.count: Any = static or shape(self.tensors[0])[0]
        self.arrays: list[TensorArray] = []

    def unstack(self, infer_shape: bool = True) -> None:
        """Create the TensorArrays from which `read` reads."""
        arrays = [
            TensorArray(
                tensor.dtype,
                size=self.count,
                dynamic_size=False,
                infer_shape=infer_shape,
                element_shape=tensor.shape[1:],
            )
            for tensor in self.tensors
        ]
        self.arrays = [array.unstack(tensor) for array, tensor in zip(arrays, self.tensors)]

    def read(self, index: Any) -> list[Tensor]:
        """Return the elements at `index`."""
        return [array.read(index) for array in self.arrays]

    def packed(self, leaves: Sequence[Any]) -> Any:
        """Return `leaves`, with one leaf for each tensor of `elems`, in the structure of
        `elems`.
        """
        return pack_sequence_as(self.structure, leaves)

    def stacked(self, arrays: Sequence[TensorArray]) -> list[Tensor]:
        """Return, for each of `arrays`, the results of all iterations as one stacked tensor."""
        results = [array.stack() for array in arrays]
        for result in results:
            result.set_shape(TensorShape([self.known]).concatenate(result.shape[1:]))
        return results

    def loop(
        self,
        condition: Callable[..., Any],
        compute: Callable[..., Any],
        start: Any,
        parallel_iterations: int,
        back_prop: bool,
        swap_memory: bool,
    ) -> Any:
        """Build the `tf.while_loop` over the elements."""
        return while_loop(
            condition,
            compute,
            start,
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=self.count,
        )


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Apply `fn` to each element of `elems` along its first axis, and stack the results.

    Raises TypeError if `fn` is not callable, or if its result and `dtype` are structures of
    different types. Raises ValueError if `elems` contains a scalar or if the result's structure
    differs from `dtype`. A run raises InvalidArgumentError if the results of `fn` have other dtypes
    than `dtype`, or if their shapes differ.

    Args:
      elems: a tensor, or a structure of tensors whose first sizes are equal. `fn` receives the
        elements in that structure.
      dtype: the dtypes of the results of `fn`, in their structure. By default they are the dtypes
        of `elems`.
      infer_shape: whether all results must have the same shape.

    >>> session.run(tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3])))
    array([1, 4, 9], dtype=int32)
    """
    _check_callable(fn)
    with name_scope(name, "map", flatten(elems)):
        elements = _Elements(elems)
        wanted = dtype or elements.packed([element.dtype for element in elements.tensors])
        elements.unstack(infer_shape)
        start = constant(0)
        results = [
            TensorArray(
                as_dtype(element), size=elements.count, dynamic_size=False, infer_shape=infer_shape
            )
            for element in flatten(wanted)
        ]

        def compute(index: Tensor, arrays: list[TensorArray]) -> Any:
            result = fn(elements.packed(elements.read(index)))
            assert_same_structure(wanted, result)
            arrays = _written(arrays, index, flatten(result))
            return index + 1, arrays

        _, results = elements.loop(
            lambda index, _: index < elements.count,
            compute,
            (start, results),
            parallel_iterations or 10,
            back_prop,
            swap_memory,
        )
        return pack_sequence_as(wanted, elements.stacked(results))


def _fold(type_name: str, from_end: bool, doc: str) -> Callable[..., Any]:
    """Return `foldl`. If `from_end` is true, return `foldr`."""

    @named(type_name, doc)
    def fold(
        fn: Callable[..., Any],
        elems: Any,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        _check_callable(fn)
        with name_scope(name, type_name, flatten(elems)):
            elements = _Elements(elems)
            elements.unstack()
            start: Any = elements.count if from_end else 0
            if initializer is None:
                first = start - 1 if from_end else start
                initializer = elements.packed(elements.read(first))
                start = first if from_end else constant(1)

            def compute(index: Tensor, held: Any) -> Any:
                index = index - 1 if from_end else index
                result = fn(held, elements.packed(elements.read(index)))
                return index if from_end else index + 1, result

            _, result = elements.loop(
                lambda index, _: index > 0 if from_end else index < elements.count,
                compute,
                (start, initializer),
                parallel_iterations,
                back_prop,
                swap_memory,
            )
            return result

    return fold


foldl = _fold(
    "foldl",
    False,
    """Return the last value of `a = fn(a, element)` over the first axis of `elems`.

    `a` starts as `initializer`, of any structure, or else as the first element, for which `fn` is
    then not called. elems: a tensor, or a structure of tensors of the same first size.

    Raises TypeError if `fn` is not callable, ValueError for scalars and if the result of `fn` has
    another structure than `a`.
    """,
)
foldr = _fold("foldr", True, "Do as `foldl`, from the last element to the first.")


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the stacked values of `a = fn(a, element)` over the first axis of `elems`.

    `a` starts as `initializer`, which may have any structure. Without an initializer, `a` starts as
    the first element. This element is then also the first result, without a call of `fn`.

    Raises TypeError if `fn` is not callable. Raises ValueError if `elems` contains a scalar, or if
    the result of `fn` does not have the structure of `a`.

    Args:
      elems: a tensor, or a structure of tensors whose first sizes are equal.
      infer_shape: whether `a` always has the same shape.
      reverse: whether to start at the last element. Each result still has the index of its element.

    >>> session.run(tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3])))
    array([1, 3, 6], dtype=int32)
    """
    _check_callable(fn)
    with name_scope(name, "scan", flatten(elems)):
        elements = _Elements(elems)
        elements.unstack(infer_shape)
        structure = elems if initializer is None else initializer
        if initializer is None:
            held = elements.read(elements.count - 1 if reverse else 0)
        else:
            held = [convert_to_tensor(value) for value in flatten(initializer)]
        arrays = _results_of(held, elements.count, infer_shape)
        start: Any = 0
        if initializer is None:
            arrays = _written(arrays, elements.count - 1 if reverse else 0, held)
            start = 1

        def compute(index: Tensor, held: list[Tensor], arrays: list[TensorArray]) -> Any:
            element = elements.packed(elements.read(index))
            result = fn(pack_sequence_as(structure, held), element)
            assert_same_structure(structure, result)
            arrays = _written(arrays, index, flatten(result))
            return index - 1 if reverse else index + 1, flatten(result), arrays

        _, _, results = elements.loop(
            (lambda index, *_: index >= 0)
            if reverse
            else (lambda index, *_: index < elements.count),
            compute,
            (elements.count - 1 - start if reverse else start, held, arrays),
            parallel_iterations,
            back_prop,
            swap_memory,
        )
        return pack_sequence_as(structure, elements.stacked(results))


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"fn must be callable, but it is {fn!r}")


def _results_of(held: Sequence[Tensor], count: Any, infer_shape: bool) -> list[TensorArray]:
    """Return an empty TensorArray for each tensor in `held`, with room for `count` results.

    The results have the dtype of the tensor and, if `infer_shape`, its shape.
    """
    return [
        TensorArray(
            tensor.dtype,
            size=count,
            element_shape=tensor.shape if infer_shape else None,
            dynamic_size=False,
            infer_shape=infer_shape,
        )
        for tensor in held
    ]


def _written(arrays: Sequence[TensorArray], index: Any, values: Sequence[Any]) -> list[TensorArray]:
    return [array.write(index, value) for array, value in zip(arrays, values, strict=True)]
