"""Loss scaling, which keeps small float16 gradients from becoming zero, and PythonState.

The module `loss_scale` contains the scales. The module `loss_scale_optimizer` contains the
optimizer that uses a scale. PythonState makes an object of Python part of checkpoints.
"""

from gpugraph.library.train.experimental.loss_scale import (
    DynamicLossScale as DynamicLossScale,
    FixedLossScale as FixedLossScale,
    LossScale as LossScale,
)
from gpugraph.library.train.experimental.loss_scale_optimizer import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
from gpugraph.library.train.object_checkpoints.python_state import PythonState as PythonState
