"""Losses that are scaled up, so that small gradients of float16 are not lost: `loss_scale` says
by how much, `loss_scale_optimizer` trains by it.
"""

from gpugraph.library.train.experimental.loss_scale import (
    DynamicLossScale as DynamicLossScale,
    FixedLossScale as FixedLossScale,
    LossScale as LossScale,
)
from gpugraph.library.train.experimental.loss_scale_optimizer import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
