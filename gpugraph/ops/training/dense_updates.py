"""The ops with which optimizers update whole variables in place. There is one op type for each
optimizer.

Inputs with a reference dtype are the variable and its slots. The output is the variable. Shapes and
hyperparameters are checked, and temporaries are allocated, before the update begins. An error
therefore never leaves a variable partly written. All arithmetic is in the variable's dtype, in
TensorFlow's order of operations. On the CPU, large variables are updated piece by piece, so that
the temporaries stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gpugraph.base.dtypes import FLOATING
from gpugraph.base.misfit import value_error
from gpugraph.base.shapes import TensorShape, shape_text
from gpugraph.graph.inference_context import InferContext
from gpugraph.kernel import Call, Elementwise, KernelContext, OpMemory, Signature
from gpugraph.ops.framework.formula_terms import Formula, Term, decomposition
from gpugraph.ops.framework.op_declaration import NO_GRADIENT, Attr, op
from gpugraph.ops.framework.op_function import OpFunction
from gpugraph.ops.framework.shape_functions import SCALAR
from gpugraph.ops.training.numpy_programs import NumpyUpdate, UpdateFormula

_PIECE = 1 << 15
"""The number of elements updated at a time: a few arrays of this size fit into a core's cache."""


def _infer(arrays: Sequence[int]) -> Callable[[InferContext], Sequence[TensorShape]]:
    """Return the shape inference function of an update. The output has the shape of the inputs
    `arrays`.

    All other inputs must be scalars.
    """

    def infer(context: InferContext) -> Sequence[TensorShape]:
        whole = context.shapes[0]
        for index, shape in enumerate(context.shapes):
            if index in arrays:
                whole = whole.merge_with(shape)
            elif not shape.is_compatible_with(SCALAR):
                raise value_error(
                    f"Input {index} must be a scalar but is of shape {shape_text(shape)}",
                    f"Shape must be rank 0 but is rank {shape.rank}",
                )
        return [whole]

    return infer


def _bind(
    formula: UpdateFormula,
    arrays: Sequence[int],
    piece: int | None,
    context: KernelContext,
    *values: Any,
) -> Callable[[], Any]:
    """Bind the update of the whole variable, in pieces of `piece` elements, or all at once if
    `piece` is None.

    Args:
      arrays: the indices of the inputs that are not scalars. Expressions of scalars are computed
        only once.
    """
    *inputs, _ = values  # the last value, the output, is the variable
    scalars = [value for index, value in enumerate(inputs) if index not in arrays]
    flat = [inputs[index].reshape(-1) for index in arrays]
    size = flat[0].size
    step = size if piece is None else min(size, piece)
    update = formula.numpy_update(context)
    dtype = context.input_types[0].base_dtype
    temporaries = [context.scratch((step,), dtype) for _ in range(update.num_temporaries)]
    pieces = [
        [array[start : start + step] for array in flat]
        + [temporary[: size - start] for temporary in temporaries]
        for start in range(0, size, max(step, 1))
    ]
    return partial(_run, update, scalars, pieces)


def _run(update: NumpyUpdate, scalars: Sequence[Any], pieces: Sequence[list[Any]]) -> None:
    update([scalar[()] for scalar in scalars], pieces)


_GRADIENTS = ("grad: T", "delta: T")

UPDATES: dict[str, UpdateFormula] = {}
"""The formula by which an optimizer changes the variable and its slots, by op type without
"Apply".
"""


def declare_update(
    name: str, inputs: str, formula: Formula, doc: str, gpu_expression: str = "", **attrs: Any
) -> OpFunction:
    """Declare the op type `Apply<name>`.

    Args:
      inputs: the declarations of the inputs. Inputs with a reference dtype, `grad` and `delta` are
        arrays of the same shape. All other inputs are scalars.
      formula: a function that receives the signature and all inputs, and returns the new values of
        the variable and the slots.
      gpu_expression: a C expression for one element of the new variable, if the formula is a single
        expression.
    """
    is_array = ["Ref(" in part or part.strip() in _GRADIENTS for part in inputs.split(",")]
    arrays = [index for index, array in enumerate(is_array) if array]
    UPDATES[name] = update = UpdateFormula(formula, is_array, list(attrs))
    cpu, virtual_gpu = (
        Call(make=partial(_bind, update, arrays, piece)) for piece in (_PIECE, None)
    )
    return op(
        f"Apply{name}",
        inputs=inputs,
        outputs="out: Ref(T)",
        attrs={"T": FLOATING, "use_locking": Attr("bool", False), **attrs},
        infer=_infer(arrays),
        memory=OpMemory(writes=arrays[:-1], view={0: 0}),
        cpu=cpu,
        gpu=Elementwise(gpu_expression, virtual_gpu) if gpu_expression else virtual_gpu,
        native=None if gpu_expression else decomposition(formula),
        grad=NO_GRADIENT,
        stateful=True,
        doc=doc,
    )


apply_gradient_descent = declare_update(
    "GradientDescent",
    "var: Ref(T), alpha: T, delta: T",
    lambda _, var, rate, delta: [var - delta * rate],
    gpu_expression="x - y * z",
    doc="var -= alpha * delta",
)


def _momentum(signature: Signature, *inputs: Term) -> list[Term]:
    var, accum, rate, grad, momentum = inputs
    accum = accum * momentum + grad
    if signature.attrs["use_nesterov"]:
        return [var - (grad * rate + accum * momentum * rate), accum]
    return [var - accum * rate, accum]


apply_momentum = declare_update(
    "Momentum",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T, momentum: T",
    _momentum,
    use_nesterov=Attr("bool", False),
    doc="accum = accum * momentum + grad; var -= lr * accum, "
    "or with use_nesterov var -= lr * grad + lr * momentum * accum.",
)


def _adam(signature: Signature, *inputs: Term) -> list[Term]:
    var, m, v, beta1_power, beta2_power, rate, beta1, beta2, epsilon, grad = inputs
    alpha = rate * (1 - beta2_power).sqrt() / (1 - beta1_power)
    m = m + (grad - m) * (1 - beta1)
    v = v + (grad * grad - v) * (1 - beta2)
    nesterov = signature.attrs["use_nesterov"]
    mean = grad * (1 - beta1) + m * beta1 if nesterov else m
    return [var - mean * alpha / (v.sqrt() + epsilon), m, v]


apply_adam = declare_update(
    "Adam",
    "var: Ref(T), m: Ref(T), v: Ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: T, "
    "beta2: T, epsilon: T, grad: T",
    _adam,
    use_nesterov=Attr("bool", False),
    doc="m += (grad - m) * (1 - beta1); v += (grad**2 - v) * (1 - beta2); "
    "var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon), "
    "with use_nesterov beta1 * m + (1 - beta1) * grad in place of the last m.",
)


def _adagrad(signature: Signature, var: Term, accum: Term, rate: Term, grad: Term) -> list[Term]:
    if signature.attrs["update_slots"]:
        accum = accum + grad * grad
    return [var - grad * rate / accum.sqrt(), accum]


apply_adagrad = declare_update(
    "Adagrad",
    "var: Ref(T), accum: Ref(T), lr: T, grad: T",
    _adagrad,
    update_slots=Attr("bool", True),
    doc="accum += grad**2 (unless update_slots is false); var -= lr * grad / sqrt(accum)",
)


def _rms_prop(_: Signature, *inputs: Term) -> list[Term]:
    var, ms, mom, rate, rho, momentum, epsilon, grad = inputs
    ms = ms + (grad * grad - ms) * (1 - rho)
    mom = mom * momentum + grad * rate / (ms + epsilon).sqrt()
    return [var - mom, ms, mom]


apply_rms_prop = declare_update(
    "RMSProp",
    "var: Ref(T), ms: Ref(T), mom: Ref(T), lr: T, rho: T, momentum: T, epsilon: T, grad: T",
    _rms_prop,
    doc="ms += (grad**2 - ms) * (1 - rho); "
    "mom = momentum * mom + lr * grad / sqrt(ms + epsilon); var -= mom",
)
