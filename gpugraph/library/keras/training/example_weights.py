"""Weights of examples, of time steps and of classes, converted to one array for each output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpugraph.library.keras.training.input_arrays import as_array, check_output_names


def weights_by_output(weights: Any, names: Sequence[str], kind: str) -> list[Any]:
    """Return a list with the weights of each output.

    Raises ValueError if a list has the wrong length or a name is unknown. Raises TypeError if there
    are several outputs and `weights` is neither a list nor a dict.

    Args:
      weights: a list with a value for each output, a dict from the outputs' names to values, or the
        value of a single output.
      kind: the argument's name, for messages.
    """
    if weights is None or (isinstance(weights, (list, dict)) and not weights):
        return [None] * len(names)
    is_by_name = isinstance(weights, Mapping) and any(name in weights for name in names)
    if len(names) == 1:
        if isinstance(weights, list) and len(weights) == 1 and np.ndim(weights[0]) > 0:
            return [weights[0]]
        if isinstance(weights, Mapping) and (is_by_name or kind == "sample_weight"):
            check_output_names(weights, names, kind)
            return [weights[names[0]]]
        return [weights]
    if isinstance(weights, (list, tuple)):
        if len(weights) != len(names):
            raise ValueError(
                f"Provided `{kind}` was a list of {len(weights)} elements, but the model has "
                f"{len(names)} outputs. You should provide one `{kind}` array per model output."
            )
        return list(weights)
    if isinstance(weights, Mapping):
        check_output_names(weights, names, kind)
        return [weights.get(name) for name in names]
    raise TypeError(
        f"The model has multiple outputs, so `{kind}` should be either a list or a dict. Provided "
        f"`{kind}` type not understood: {weights}"
    )


def standardize_weights(target: Any, weights: Any, class_weights: Any, is_temporal: bool) -> Any:
    """Return the weights of an output's examples, or of their time steps if `is_temporal` is true,
    or None.

    Raises ValueError for weights of a wrong shape, and for a class without a weight.

    Args:
      target: the targets of the output.
      weights: the weights that the program passed, or None.
      class_weights: a dict from class to factor, or None. The weights are multiplied by the
        factors.
    """
    weights = as_array(weights)
    if is_temporal and (weights is not None or class_weights is not None):
        _check_temporal(target, weights)
    elif weights is not None and weights.ndim != 1:
        raise ValueError(
            f"Found a sample_weight array with shape {weights.shape}. In order to use "
            'timestep-wise sample weights, you should specify sample_weight_mode="temporal" in '
            'compile(); found "None" instead. If you just mean to use sample-wise weights, make '
            "sure your sample_weight array is 1D."
        )
    has_both = weights is not None and target is not None
    if has_both and target.shape[1 : weights.ndim] != weights.shape[1:]:
        raise ValueError(
            f"Found a sample_weight array with shape {weights.shape} for an input with shape "
            f"{target.shape}. sample_weight cannot be broadcast."
        )
    if class_weights is None:
        return weights
    by_class = _by_class(target, class_weights)
    return by_class if weights is None else weights * by_class


def _check_temporal(target: Any, weights: Any) -> None:
    if target is not None and target.ndim < 3:
        raise ValueError(
            f"Found a sample_weight array for an input with shape {target.shape}. Timestep-wise "
            'sample weighting (use of sample_weight_mode="temporal") is restricted to outputs '
            "that have a time dimension."
        )
    if weights is not None and weights.ndim != 2:
        raise ValueError(
            f"Found a sample_weight array with shape {weights.shape}. In order to use "
            "timestep-wise sample weighting, you should pass a 2D sample_weight array."
        )


def _by_class(target: Any, class_weights: Any) -> Any:
    """Return the weight of each example's class.

    Args:
      target: classes, or one-hot rows.
    """
    if not isinstance(class_weights, Mapping):
        raise TypeError(f"Expected `class_weight` to be a dict of classes, got {class_weights!r}")
    if target.ndim > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    many = target.ndim == 2 and target.shape[1] > 1
    classes = np.argmax(target, axis=1) if many else np.reshape(target, [-1])
    present, positions = np.unique(np.asarray(classes), return_inverse=True)
    missing = [key for key in present.tolist() if key not in class_weights]
    if missing:
        raise ValueError(
            "`class_weight` must contain all classes in the data. The classes "
            f"{set(missing)} exist in the data but not in `class_weight`."
        )
    return np.array([class_weights[key] for key in present.tolist()])[positions]
