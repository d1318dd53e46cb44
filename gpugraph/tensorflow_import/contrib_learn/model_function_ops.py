"""`tf.contrib.learn.ModelFnOps`, which has the tensors that a model function returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpugraph.graph.client.tensor import Tensor
from gpugraph.tensorflow_import.tensorflow_names import find


class ModeKeys:
    """The modes of a model function."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"


class _Fields(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    output_alternatives: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    mode: Any


class ModelFnOps(_Fields):
    """The tensors and operations of a model in one mode.

    Args:
      output_alternatives: a dict from names to pairs (problem type, tensors), which are additional
        outputs of an exported model.
    """

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        output_alternatives: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
    ) -> ModelFnOps:
        """Create the object. Raises ValueError if a tensor or operation that the mode requires is
        missing.
        """
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL) and loss is None:
            raise ValueError("Missing loss.")
        if mode in (ModeKeys.INFER,) and predictions is None:
            raise ValueError("Missing predictions.")
        return super().__new__(
            cls,
            predictions,
            loss,
            train_op,
            eval_metric_ops or {},
            output_alternatives,
            list(training_chief_hooks or ()),
            list(training_hooks or ()),
            scaffold,
            mode,
        )

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> Any:
        """Return the EstimatorSpec of `tf.estimator` with these tensors."""
        del default_serving_output_alternative_key
        predictions = by_name(self.predictions)
        serving = find("estimator.export", "PredictOutput")
        outputs = None
        if self.mode == ModeKeys.INFER:
            outputs = {"serving_default": serving(predictions)}
            for name, (_, tensors) in (self.output_alternatives or {}).items():
                outputs[name or "default_output"] = serving(by_name(tensors))
        return find("estimator", "EstimatorSpec")(
            self.mode,
            predictions=predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=dict(self.eval_metric_ops),
            export_outputs=outputs,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


def by_name(predictions: Any) -> Any:
    """Return predictions as a dict of tensors."""
    return {"predictions": predictions} if isinstance(predictions, Tensor) else predictions
