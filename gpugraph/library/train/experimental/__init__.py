"""Loss scaling, which keeps small float16 gradients from becoming zero.

The module `loss_scale` contains the scales. The module `loss_scale_optimizer` contains the
optimizer that uses a scale.
"""

from gpugraph.library.train.experimental.loss_scale import (
    DynamicLossScale as DynamicLossScale,
    FixedLossScale as FixedLossScale,
    LossScale as LossScale,
)
from gpugraph.library.train.experimental.loss_scale_optimizer import (
    MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer,
)
