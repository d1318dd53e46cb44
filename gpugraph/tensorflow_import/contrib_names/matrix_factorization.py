"""`tf.contrib.factorization.WALSModel`, which factors a sparse matrix by weighted alternating least
squares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

from gpugraph.api import nn, top_level as tf
from gpugraph.base import dtypes
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.variables.variable import Variable
from gpugraph.building.variables.variable_collections import variables_initializer
from gpugraph.graph.client.default_graph_functions import (
    colocate_with,
    control_dependencies,
    name_scope,
)
from gpugraph.graph.client.graph_collections import GraphKeys
from gpugraph.ops.framework.op_declaration import raw_ops
from gpugraph.ops.sparse.sparse_tensor import SparseTensor


def _shard_sizes(count: int, num_shards: int) -> list[int]:
    size, rest = divmod(count, num_shards)
    return [size + 1] * rest + [size] * (num_shards - rest)


def _variable(initial: Callable[[], Any], name: str) -> Variable:
    return Variable(initial, dtype=dtypes.float32, name=name)


class _Side(NamedTuple):
    """The rows or the columns of a model: their number, factors and weights, with the copies that
    updates of the other side read.
    """

    size: int
    factors: list[Variable]
    factors_copy: list[Any]
    weights_copy: list[Any] | None
    gramian_copy: Any


class WALSModel:
    """The factors of a sparse matrix A whose numbers of rows and columns are known, and the
    operations that train the factors.

    The factors U and V minimize the sum of w_ij (A_ij - u_i v_j)^2 over all i and j, plus the
    regularization. The weight w_ij is `unobserved_weight`. For an entry of A, the product of the
    weights of its row and its column is added. A training alternates between rows and columns. To
    update the rows, run `row_update_prep_gramian_op` and `initialize_row_update_op`, and then the
    update operations of `update_row_factors` for batches that cover all rows.

    Args:
      n_components: the size of a factor.
      regularization: the factor of the squares of U and V, or None.
      row_init, col_init: "random", the initial factors (a list with the factors of each shard), or
        a function that returns them.
      num_row_shards, num_col_shards: the numbers of variables of the factors.
      row_weights, col_weights: a number, or a list of numbers (with several shards, a list of
        lists). If both are None, all weights are `unobserved_weight`.
      use_factors_weights_cache, use_gramian_cache: whether local variables keep copies, which the
        updates read.
      use_scoped_vars: whether each variable is in a name scope with the variable's name.
    """

    def __init__(
        self,
        input_rows: int,
        input_cols: int,
        n_components: int,
        unobserved_weight: float = 0.1,
        regularization: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache: bool = True,
        use_gramian_cache: bool = True,
        use_scoped_vars: bool = False,
    ) -> None:
        if (row_weights is None) != (col_weights is None):
            raise ValueError("row_weights and col_weights must both be None, or both be given")
        self._n_components, self._unobserved_weight = n_components, unobserved_weight
        self._regularization, self._is_scoped = regularization, use_scoped_vars
        counts = {"row": (input_rows, num_row_shards), "col": (input_cols, num_col_shards)}
        self._weights = {
            axis: self._weight_variables(axis, weights, *counts[axis])
            for axis, weights in (("row", row_weights), ("col", col_weights))
        }
        self._factors = {
            axis: self._factor_variables(axis, initial, *counts[axis])
            for axis, initial in (("row", row_init), ("col", col_init))
        }
        self._gramians = {
            axis: _variable(lambda: tf.zeros([n_components] * 2), f"{axis}_gramian")
            for axis in counts
        }
        self._prepare = {axis: self._prepared(axis) for axis in counts}
        self._make_copies({axis: count for axis, (count, _) in counts.items()},
                          use_factors_weights_cache, use_gramian_cache)  # fmt: skip

    def _scope(self, name: str) -> Any:
        return name_scope(name) if self._is_scoped else control_dependencies([])

    def _factor_variables(self, axis: str, initial: Any, count: int, shards: int) -> list[Variable]:
        value = initial() if callable(initial) else initial
        sizes, is_random = _shard_sizes(count, shards), isinstance(value, str) and value == "random"
        parts = value if isinstance(value, list) else [value]
        if not is_random and len(parts) != shards:
            raise ValueError(f"{axis}_init must be a list of {shards} arrays, one for each shard")

        def first_value(number: int) -> Callable[[], Any]:
            if is_random:
                return lambda: tf.random_normal([sizes[number], self._n_components])
            return lambda: parts[number]

        name = f"{axis}_factors"
        with self._scope(name):
            return [_variable(first_value(n), f"{name}_shard_{n}") for n in range(shards)]

    def _weight_variables(
        self, axis: str, initial: Any, count: int, shards: int
    ) -> list[Variable] | None:
        if initial is None:
            return None
        sizes = _shard_sizes(count, shards)
        if isinstance(initial, Real) and initial >= 0:  # type: ignore[operator]
            parts: list[Any] = [initial * tf.ones([size]) for size in sizes]
        elif isinstance(initial, Iterable):
            listed = list(initial)
            parts = [listed] if shards == 1 and len(listed) == count else listed
        else:
            raise ValueError(
                "Invalid weight initialization argument. Must be one of these: None, a real "
                "non-negative real number, or a list of lists of non-negative real numbers (or "
                "equivalent iterables) corresponding to sharded factors."
            )
        if len(parts) != shards:
            raise ValueError(f"{axis}_weights must be a list of {shards} lists, one for each shard")
        name = f"{axis}_weights"
        with self._scope(name):
            return [
                _variable(lambda n=n: tf.cast(parts[n], dtypes.float32), f"{name}_shard_{n}")  # type: ignore[misc]
                for n in range(shards)
            ]

    def _prepared(self, axis: str) -> Any:
        """Return the operation that sets the gramian of the factors of the axis."""
        with name_scope(f"{'col' if axis == 'row' else 'row'}_prepare_gramian"):
            parts = [tf.matmul(part, part, transpose_a=True) for part in self._factors[axis]]
            gramian = self._gramians[axis]
            with colocate_with(gramian):
                return tf.assign(gramian, tf.add_n(parts)).op

    # -- copies

    def _make_copies(
        self, counts: dict[str, int], keeps_factors: bool, keeps_gramian: bool
    ) -> None:
        self._sides: dict[str, _Side] = {}
        starts: dict[str, list[Any]] = {"row": [], "col": []}
        resets: dict[str, list[Any]] = {"row": [], "col": []}
        worker: list[Any] = []
        with name_scope("transient_vars"):
            for axis in ("row", "col"):
                factors, start, reset = _copies(
                    self._factors[axis], f"{axis}_factors_cache", keeps_factors
                )
                starts[axis] += start
                resets[axis] += reset
                weights = self._weights[axis]
                if weights is not None:
                    weights, start, _ = _copies(weights, f"{axis}_wt_cache", keeps_factors)
                    worker += start
                [gramian], start, reset = _copies(
                    [self._gramians[axis]], f"{axis}_gramian_cache", keeps_gramian, True
                )
                starts[axis] += start
                resets[axis] += reset
                self._sides[axis] = _Side(
                    counts[axis], self._factors[axis], factors, weights, gramian
                )
            self._row_updates_init = tf.group(*starts["col"], *resets["row"])
            self._col_updates_init = tf.group(*starts["row"], *resets["col"])
            self._worker_init = tf.group(*worker, name="worker_init")

    # -- variables and operations

    @property
    def row_factors(self) -> list[Variable]:
        """The variables of the factors of rows, one for each shard."""
        return self._factors["row"]

    @property
    def col_factors(self) -> list[Variable]:
        """The variables of the factors of columns, one for each shard."""
        return self._factors["col"]

    @property
    def row_weights(self) -> list[Variable] | None:
        """The variables of the weights of rows, or None."""
        return self._weights["row"]

    @property
    def col_weights(self) -> list[Variable] | None:
        """The variables of the weights of columns, or None."""
        return self._weights["col"]

    @property
    def initialize_op(self) -> Any:
        """The operation that initializes the variables of the model."""
        weights = [part for parts in self._weights.values() for part in parts or ()]
        factors = self.row_factors + self.col_factors
        return variables_initializer([*factors, *self._gramians.values(), *weights])

    @property
    def worker_init(self) -> Any:
        """The operation that copies the weights. Run it once, before the updates."""
        return self._worker_init

    @property
    def row_update_prep_gramian_op(self) -> Any:
        """The operation to run before a sweep over rows, by one worker."""
        return self._prepare["col"]

    @property
    def col_update_prep_gramian_op(self) -> Any:
        """The operation to run before a sweep over columns, by one worker."""
        return self._prepare["row"]

    @property
    def initialize_row_update_op(self) -> Any:
        """The operation to run before a sweep over rows, by each worker."""
        return self._row_updates_init

    @property
    def initialize_col_update_op(self) -> Any:
        """The operation to run before a sweep over columns, by each worker."""
        return self._col_updates_init

    def update_row_factors(self, sp_input: Any = None, transpose_input: bool = False) -> Any:
        """Return the new factors of rows, the operation that stores them, and the loss.

        Returns:
          A tuple (factors, update operation, loss without regularization, regularization, sum of
          the weights). The loss is an estimate for all rows, computed from these rows.

        Args:
          sp_input: a SparseTensor with all entries of some rows.
          transpose_input: whether the rows are the columns of `sp_input`.
        """
        return self._process("row", "col", sp_input, transpose_input)

    def update_col_factors(self, sp_input: Any = None, transpose_input: bool = False) -> Any:
        """Return the results of `update_row_factors` for columns instead of rows.

        Args:
          sp_input: a SparseTensor with all entries of some columns.
          transpose_input: whether the columns are the rows of `sp_input`.
        """
        return self._process("col", "row", sp_input, not transpose_input)

    def project_row_factors(
        self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None
    ) -> Any:
        """Return the factors of rows, which need not be rows of the trained matrix.

        Args:
          projection_weights: the weights of the rows, a number or a vector, by default 1.
        """
        weights = 1 if projection_weights is None else projection_weights
        return self._process("row", "col", sp_input, transpose_input, weights)[0]

    def project_col_factors(
        self, sp_input: Any = None, transpose_input: bool = False, projection_weights: Any = None
    ) -> Any:
        """Return the results of `project_row_factors` for columns instead of rows."""
        weights = 1 if projection_weights is None else projection_weights
        return self._process("col", "row", sp_input, not transpose_input, weights)[0]

    # -- solutions

    def _process(
        self, left: str, right: str, source: Any, is_transposed: bool, weights: Any = None
    ) -> Any:
        if not isinstance(source, SparseTensor):
            raise TypeError(f"sp_input must be a SparseTensor, got {source!r}")
        solved, other = self._sides[left], self._sides[right]
        axis = int(is_transposed)
        ids, rows = tf.unique(source.indices[:, axis])
        other_ids, columns = tf.unique(source.indices[:, 1 - axis])
        entries = tf.cast(tf.stack([rows, columns], axis=1), dtypes.int64)
        factors = _looked_up(other.factors_copy, other_ids)
        count = tf.shape(ids)[0]
        pair = self._weights_of(solved, other, ids, other_ids, count, weights)
        values = self._solve(factors, entries, source.values, count, pair, other.gramian_copy)
        update = _scattered(solved.factors, ids, values, solved.size, f"{left}_update")
        losses = self._losses((solved, other), values, factors, entries, source.values, count, pair)
        return (values, update, *losses)

    def _weights_of(
        self, solved: _Side, other: _Side, ids: Any, other_ids: Any, count: Any, row_weights: Any
    ) -> tuple[Any, Any] | None:
        if solved.weights_copy is None or other.weights_copy is None:
            return None
        if row_weights is None:
            solved_weights = _looked_up(solved.weights_copy, ids)
        else:
            row_weights = tf.convert_to_tensor(row_weights)
            solved_weights = cond(
                tf.equal(tf.rank(row_weights), 0),
                lambda: tf.ones([count]) * tf.cast(row_weights, dtypes.float32),
                lambda: tf.cast(row_weights, dtypes.float32) + tf.zeros([count]),
            )
        return solved_weights, _looked_up(other.weights_copy, other_ids)

    def _solve(
        self, factors: Any, entries: Any, values: Any, count: Any, pair: Any, gramian: Any
    ) -> Any:
        left = self._unobserved_weight * gramian
        if self._regularization is not None:
            left = left + self._regularization * tf.eye(self._n_components)
        none: Any = tf.zeros([0])
        ones = tf.ones([count]), tf.ones([tf.shape(factors)[0]])
        row_weights, others = pair or ones
        part, right = raw_ops.WALSComputePartialLhsAndRhs(
            factors, others, self._unobserved_weight, row_weights, entries, values, none,
            tf.cast(count, dtypes.int64), False, name="wals_compute_partial_lhs_rhs",
        )  # fmt: skip
        if pair is None:  # the op adds 1 to the weight of each entry
            weight = self._unobserved_weight
            right = right * (weight / (weight + 1.0))
            return tf.transpose(tf.matrix_solve(left, tf.transpose(right)))
        solved = tf.matrix_solve(tf.expand_dims(left, 0) + part, tf.expand_dims(right, -1))
        return tf.squeeze(solved, [2])

    def _losses(
        self, sides: Any, values: Any, factors: Any, entries: Any, targets: Any, count: Any,
        pair: Any,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        solved, other = sides
        approximations = raw_ops.MaskedMatmul(values, factors, entries, False, True)
        errors = tf.square(targets - approximations)
        gramian = tf.matmul(values, values, transpose_a=True)
        scale = float(solved.size) / tf.cast(count, dtypes.float32)
        unobserved = tf.reduce_sum(errors) - tf.reduce_sum(tf.square(approximations))
        unobserved += tf.trace(tf.matmul(gramian, other.gramian_copy))
        loss = self._unobserved_weight * unobserved
        total = self._unobserved_weight * tf.constant(float(solved.size * other.size))
        if pair is not None:
            weights = tf.gather(pair[0], entries[:, 0]) * tf.gather(pair[1], entries[:, 1])
            loss += tf.reduce_sum(weights * errors)
            total += tf.reduce_sum(weights) * scale
        regularization = tf.constant(0.0)
        if self._regularization is not None:
            squares = tf.trace(gramian) * scale + tf.trace(other.gramian_copy)
            regularization = self._regularization * squares
        return loss * scale, regularization, total


def _copies(
    variables: Sequence[Any], name: str, keeps: bool, is_single: bool = False
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return local variables for copies, the operations that copy, and the operations that free the
    copies.

    Args:
      keeps: whether there are copies. Otherwise the variables themselves are returned.
      is_single: whether the only copy has the name itself, without the number of a shard.
    """
    if not keeps:
        return list(variables), [], []
    copies = [
        Variable(
            1.0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=False,
            name=name if is_single else f"{name}_shard_{number}",
        )
        for number in range(len(variables))
    ]  # fmt: skip
    starts, resets = [], []
    for copy, variable in zip(copies, variables):
        with colocate_with(copy):
            starts.append(tf.assign(copy, variable, validate_shape=False))
            resets.append(tf.assign(copy, 1.0, validate_shape=False))
    return copies, starts, resets


def _looked_up(parts: Sequence[Any], ids: Any) -> Any:
    return nn.embedding_lookup(list(parts), ids, partition_strategy="div")


def _scattered(factors: list[Variable], ids: Any, values: Any, count: int, name: str) -> Any:
    """Return the operation that stores the factors of `ids` in the variables of the shards."""
    if len(factors) == 1:
        with colocate_with(factors[0]):
            return tf.scatter_update(factors[0], ids, values, name=name).op
    size, extra = divmod(count, len(factors))
    shards = tf.maximum(ids // (size + 1), (ids - extra) // size)
    places = tf.where(shards < extra, ids % (size + 1), (ids - extra) % size)
    numbers = tf.cast(shards, dtypes.int32)
    parts = [tf.dynamic_partition(part, numbers, len(factors)) for part in (places, values)]
    return tf.group(*(tf.scatter_update(*triple) for triple in zip(factors, *parts)), name=name)
