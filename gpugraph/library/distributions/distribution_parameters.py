"""The base class of Distribution that handles parameters: checks, shapes, and copies with other
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gpugraph.base import dtypes
from gpugraph.base.dtypes import DType
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.building.checks import (
    assert_less,
    assert_positive,
    assert_rank_at_least,
    assert_same_float_dtype,
)
from gpugraph.graph.client.default_graph_functions import control_dependencies, name_scope
from gpugraph.graph.client.tensor import Tensor
from gpugraph.ops.framework.constant_value import constant_value
from gpugraph.ops.framework.identity_and_shape import identity, shape
from gpugraph.ops.framework.tensor_conversion import convert_to_tensor


class ReparameterizationType:
    """A constant that states whether gradients flow through samples to the parameters."""

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
"""Samples are a differentiable function of the parameters."""

NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
"""Gradients do not flow through samples."""


class DistributionParameters:
    """The base class of Distribution. It stores the parameters and settings of a distribution."""

    event_ranks: ClassVar[dict[str, int]] = {}
    """For each tensor parameter, the number of its last axes that belong to a single event."""

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any] | None = None,
        graph_parents: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or ())
        for number, parent in enumerate(parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as scope:
                name = scope
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats = allow_nan_stats
        self._validate_args = validate_args
        self._parameters = dict(parameters or {})
        self._graph_parents = parents
        self._name = name

    def _start(
        self,
        arguments: dict[str, Any],
        reparameterization_type: ReparameterizationType = FULLY_REPARAMETERIZED,
        positive: Sequence[str] = (),
    ) -> None:
        """Initialize a distribution whose parameters are the arguments of its constructor.

        Args:
          arguments: `locals()` of the constructor.
          reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
          positive: the names of the parameters that must be positive. Runs check these parameters
            if `validate_args` is true.
        """
        arguments = {k: v for k, v in arguments.items() if k not in ("self", "__class__")}
        values = {name: arguments[name] for name in self.event_ranks}
        with name_scope(arguments["name"], values=list(values.values())) as scope:
            checked = positive if arguments["validate_args"] else ()
            checks = [check for name in checked for check in self._validity(name, values[name])]
            with control_dependencies(checks):
                self._tensors = {k: identity(v, name=k) for k, v in values.items()}
            assert_same_float_dtype(list(self._tensors.values()))
        DistributionParameters.__init__(
            self,
            dtype=next(iter(self._tensors.values())).dtype,
            reparameterization_type=reparameterization_type,
            validate_args=arguments["validate_args"],
            allow_nan_stats=arguments["allow_nan_stats"],
            parameters=arguments,
            graph_parents=list(self._tensors.values()),
            name=scope,
        )

    def _validity(self, name: str, value: Any) -> list[Any]:
        """Return the assertions for the parameter `name`. Each run checks the assertions.

        The parameter must be positive. If the parameter's last axis contains classes, the parameter
        must have at least two classes.
        """
        word = name.rstrip("01").capitalize()
        checks = [assert_positive(value, message=f"{word} parameter must be positive.")]
        if self.event_ranks[name]:
            value = convert_to_tensor(value, name=name)
            message = f"{word} parameter must have >=1 dimensions."
            checks.append(assert_rank_at_least(value, 1, message=message))
            message = f"{word} parameter must have event_size >= 2."
            checks.append(assert_less(1, shape(value)[-1], message=message))
        return checks

    @classmethod
    def param_shapes(
        cls, sample_shape: Any, name: str = "DistributionParamShapes"
    ) -> dict[str, Tensor]:
        """Return a dict from the names of parameters to shapes. If the parameters have these
        shapes, samples have the shape `sample_shape`.

        The shapes are int32 tensors. Raises NotImplementedError if events are not scalars.
        """
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """Return the shapes from `param_shapes` as static shapes.

        Raises ValueError if a shape is not fully known when the graph is built.
        """
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError(
                    f"TensorShape sample_shape must be fully defined: {shape_text(sample_shape)}"
                )
            sample_shape = sample_shape.as_list()
        shapes = {k: constant_value(v) for k, v in cls.param_shapes(sample_shape).items()}
        if any(value is None for value in shapes.values()):
            raise ValueError(
                f"sample_shape must be a fully-defined TensorShape or list/tuple: {sample_shape}"
            )
        return {k: TensorShape(value) for k, value in shapes.items()}

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        if not cls.event_ranks or any(cls.event_ranks.values()):
            raise NotImplementedError(f"_param_shapes not implemented: {cls.__name__}")
        sizes = convert_to_tensor(sample_shape, dtypes.int32)
        return dict.fromkeys(cls.event_ranks, sizes)

    @property
    def name(self) -> str:
        """The name scope of the distribution's operations, with a trailing slash."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of the events."""
        assert self._dtype is not None
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return dict(self._parameters)

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether gradients flow through samples: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether an undefined statistic is NaN instead of an error."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether runs check parameters and events."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Return a distribution of the same class. The given parameters replace those parameters of
        this distribution that have the same names.
        """
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # Shapes.
