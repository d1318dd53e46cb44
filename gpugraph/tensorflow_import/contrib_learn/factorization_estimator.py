"""`tf.contrib.factorization.WALSMatrixFactorization`, the estimator of a `WALSModel`.

A training alternates between sweeps over the rows and over the columns of a matrix. A sweep ends
when its input has supplied all rows or all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpugraph.api import top_level as tf
from gpugraph.building.control_flow.cond import cond
from gpugraph.building.variables.variable import Variable
from gpugraph.graph.client.default_graph_functions import (
    colocate_with,
    control_dependencies,
    get_default_graph,
)
from gpugraph.library.summary.summary_functions import scalar
from gpugraph.library.train.global_step import get_global_step
from gpugraph.library.train.hooks.session_run_hook import SessionRunArgs, SessionRunHook
from gpugraph.platform import logging
from gpugraph.tensorflow_import.contrib_learn.learn_estimators import Estimator
from gpugraph.tensorflow_import.contrib_learn.model_function_ops import ModeKeys, ModelFnOps
from gpugraph.tensorflow_import.contrib_names.matrix_factorization import WALSModel


class _SweepHook(SessionRunHook):
    """Runs a step of the current sweep in each run, and prepares the sweeps.

    Args:
      is_row_sweep, is_sweep_done: variables with the state of the training.
      init_op: the operation to run first.
      prepare: a dict from True (rows) and False (columns) to the operations before a sweep.
      train: a dict from True (rows) and False (columns) to the operation of a step.
      switch: the operation that begins the next sweep.
    """

    def __init__(
        self, is_row_sweep: Any, is_sweep_done: Any, init_op: Any, prepare: dict[bool, list[Any]],
        train: dict[bool, Any], switch: Any,
    ) -> None:  # fmt: skip
        self._is_row_sweep, self._is_sweep_done = is_row_sweep, is_sweep_done
        self._init_op, self._prepare, self._train, self._switch = init_op, prepare, train, switch
        self._is_initialized = False

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Prepare the sweep if it begins, and add its step to the run."""
        session = run_context.session
        is_done = bool(session.run(self._is_sweep_done))
        if not self._is_initialized:
            logging.info("SweepHook running init op.")
            session.run(self._init_op)
        if is_done:
            logging.info("SweepHook starting the next sweep.")
            session.run(self._switch)
        is_row_sweep = bool(session.run(self._is_row_sweep))
        if is_done or not self._is_initialized:
            axis = "row" if is_row_sweep else "col"
            logging.info(f"SweepHook running prep ops for the {axis} sweep.")
            for operation in self._prepare[is_row_sweep]:
                session.run(operation)
        self._is_initialized = True
        logging.info("Next fit step starting.")
        return SessionRunArgs([self._train[is_row_sweep]])


class _GlobalStepHook(SessionRunHook):
    """Adds 1 to the global step before each run."""

    def __init__(self) -> None:
        step = get_global_step()
        self._count = None if step is None else tf.assign_add(step, 1, name="global_step_incr").op

    def before_run(self, run_context: Any) -> None:
        """Count the step."""
        if self._count is not None:
            run_context.session.run(self._count)


class _StopAtSweepHook(SessionRunHook):
    """Stops the training after a number of sweeps."""

    def __init__(self, last_sweep: int) -> None:
        self._last_sweep = last_sweep

    def begin(self) -> None:
        """Find the number of sweeps. Raises RuntimeError if the graph does not count them."""
        name = WALSMatrixFactorization.COMPLETED_SWEEPS
        try:
            self._completed = get_default_graph().get_tensor_by_name(f"{name}:0")
        except KeyError as error:
            raise RuntimeError(
                f"{name} counter should be created to use StopAtSweepHook."
            ) from error

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Add the number of sweeps to the run."""
        del run_context
        return SessionRunArgs(self._completed)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Stop at the last sweep."""
        if run_values.results >= self._last_sweep:
            run_context.request_stop()


def _kept(initial: Any, name: str) -> Variable:
    return Variable(initial, trainable=False, name=name)


class _Training:
    """The operations of the training of a model."""

    def __init__(self, model: WALSModel, params: dict[str, Any], features: dict[str, Any]) -> None:
        names = WALSMatrixFactorization
        self._is_row_sweep = _kept(True, "is_row_sweep")
        self._is_sweep_done = _kept(False, "is_sweep_done")
        self._completed = _kept(0, names.COMPLETED_SWEEPS)
        self.loss = _kept(0.0, names.LOSS)
        self._error = _kept(0.0, names.RWSE)
        scalar("loss", self.loss)
        scalar("root_weighted_squared_error", self._error)
        scalar("completed_sweeps", self._completed)
        rows, columns = features[names.INPUT_ROWS], features[names.INPUT_COLS]
        reset_rows, train_rows = self._axis(
            rows, params["num_rows"], lambda x: model.update_row_factors(x), "rows"
        )
        reset_columns, train_columns = self._axis(
            columns, params["num_cols"], lambda x: model.update_col_factors(x, True), "cols"
        )
        switched = tf.assign(self._is_row_sweep, tf.logical_not(self._is_row_sweep))
        switch = tf.group(switched, reset_rows, reset_columns, name="sweep_switch_op")
        prepare = {
            True: [model.row_update_prep_gramian_op, model.initialize_row_update_op],
            False: [model.col_update_prep_gramian_op, model.initialize_col_update_op],
        }
        sweeps = _SweepHook(
            self._is_row_sweep, self._is_sweep_done, model.worker_init, prepare,
            {True: train_rows, False: train_columns}, switch,
        )  # fmt: skip
        self.hooks: list[SessionRunHook] = [sweeps, _GlobalStepHook()]
        if params["max_sweeps"] is not None:
            self.hooks.append(_StopAtSweepHook(params["max_sweeps"]))

    def _axis(
        self, source: Any, count: int, update: Callable[[Any], Any], axis: str
    ) -> tuple[Any, Any]:
        """Return the operation that begins a sweep, and the operation of a step."""
        processed = _kept(tf.fill([count], False), f"processed_{axis}")
        _, stored, loss, regularization, weights = update(source)
        ids = source.indices[:, 0]
        shown = [
            tf.assign(self.loss, loss + regularization),
            tf.assign(self._error, tf.sqrt(loss / weights)),
        ]
        with control_dependencies([stored, *shown]), colocate_with(processed):
            marked = tf.scatter_update(
                processed, ids, tf.ones_like(ids, dtype="bool"),
                name=f"update_processed_{axis}_indices",
            )  # fmt: skip
        with control_dependencies([marked]):
            is_done = tf.reduce_all(processed)
            step = tf.group(
                tf.assign(self._is_sweep_done, is_done),
                tf.assign_add(self._completed, tf.cast(is_done, "int32")),
                name=f"{axis}_sweep_train_op",
            )
        return processed.initializer, step


def _wals_model(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> ModelFnOps:
    if labels is not None:
        raise ValueError("WALSMatrixFactorization has no labels: its input is the matrix")
    names, is_training = WALSMatrixFactorization, mode == ModeKeys.TRAIN
    model = WALSModel(
        params["num_rows"],
        params["num_cols"],
        params["embedding_dimension"],
        use_factors_weights_cache=is_training and params["use_factors_weights_cache_for_training"],
        use_gramian_cache=is_training and params["use_gramian_cache_for_training"],
        regularization=params["regularization_coeff"],
        **{name: params[name] for name in _OF_MODEL},
    )
    if is_training:
        training = _Training(model, params, features)
        return ModelFnOps(mode, {}, training.loss, tf.no_op(), {}, training_hooks=training.hooks)
    rows, columns = features[names.INPUT_ROWS], features[names.INPUT_COLS]
    if mode == ModeKeys.EVAL:
        loss = cond(
            features[names.PROJECT_ROW],
            lambda: tf.add(*model.update_row_factors(rows)[2:4]),
            lambda: tf.add(*model.update_col_factors(columns, True)[2:4]),
        )
        return ModelFnOps(mode, {}, loss, tf.no_op(), {})
    weights = features.get(names.PROJECTION_WEIGHTS)
    projection = cond(
        features[names.PROJECT_ROW],
        lambda: model.project_row_factors(rows, projection_weights=weights),
        lambda: model.project_col_factors(columns, True, weights),
    )
    return ModelFnOps(mode, {names.PROJECTION_RESULT: projection}, None, tf.no_op(), {})


_OF_MODEL = (
    "unobserved_weight", "row_init", "col_init", "num_row_shards", "num_col_shards", "row_weights",
    "col_weights",
)  # fmt: skip


class WALSMatrixFactorization(Estimator):
    """An estimator that factors a sparse matrix by weighted alternating least squares.

    The input function returns the SparseTensors `input_rows`, a batch of rows, and `input_cols`, a
    batch of columns that are stored as rows. For evaluation and prediction, it also returns the
    bool `project_row`, which selects one of the two. For prediction, it may also return
    `projection_weights`. For the arguments, see `WALSModel`. The constructor raises ValueError for
    several workers.

    Args:
      max_sweeps: the number of sweeps over rows or columns after which the training ends.
    """

    INPUT_ROWS = "input_rows"
    INPUT_COLS = "input_cols"
    PROJECT_ROW = "project_row"
    PROJECTION_WEIGHTS = "projection_weights"
    PROJECTION_RESULT = "projection"
    COMPLETED_SWEEPS = "completed_sweeps"
    LOSS = "WALS_loss"
    RWSE = "WALS_RWSE"

    def __init__(
        self,
        num_rows: int,
        num_cols: int,
        embedding_dimension: int,
        unobserved_weight: float = 0.1,
        regularization_coeff: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache_for_training: bool = True,
        use_gramian_cache_for_training: bool = True,
        max_sweeps: int | None = None,
        model_dir: str | None = None,
        config: Any = None,
    ) -> None:
        params = {
            "num_rows": num_rows, "num_cols": num_cols, "embedding_dimension": embedding_dimension,
            "unobserved_weight": unobserved_weight, "regularization_coeff": regularization_coeff,
            "row_init": row_init, "col_init": col_init, "num_row_shards": num_row_shards,
            "num_col_shards": num_col_shards, "row_weights": row_weights,
            "col_weights": col_weights, "max_sweeps": max_sweeps,
            "use_factors_weights_cache_for_training": use_factors_weights_cache_for_training,
            "use_gramian_cache_for_training": use_gramian_cache_for_training,
        }  # fmt: skip
        self._shards = {"row": num_row_shards, "col": num_col_shards}
        super().__init__(model_fn=_wals_model, params=params, model_dir=model_dir, config=config)
        if self.config is not None and self.config.num_worker_replicas > 1:
            raise ValueError("WALSMatrixFactorization must be run on a single worker replica.")

    def _values(self, axis: str) -> list[Any]:
        names = [f"{axis}_factors_shard_{number}" for number in range(self._shards[axis])]
        return [self.get_variable_value(name) for name in names]

    def get_row_factors(self) -> list[Any]:
        """Return the trained factors of rows as a list of arrays, one for each shard."""
        return self._values("row")

    def get_col_factors(self) -> list[Any]:
        """Return the trained factors of columns as a list of arrays, one for each shard."""
        return self._values("col")

    def get_projections(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Yield the factors of the rows or columns of the input."""
        return (result[self.PROJECTION_RESULT] for result in self.predict(input_fn=input_fn))
