"""`tf.contrib.opt`: optimizers that are not in `tf.train`."""

from gpugraph.library.contrib.optimizers import (
    AdaMaxOptimizer as AdaMaxOptimizer,
    AdamWOptimizer as AdamWOptimizer,
    AddSignOptimizer as AddSignOptimizer,
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
    ExternalOptimizerInterface as ExternalOptimizerInterface,
    LARSOptimizer as LARSOptimizer,
    LazyAdamOptimizer as LazyAdamOptimizer,
    MomentumWOptimizer as MomentumWOptimizer,
    MovingAverageOptimizer as MovingAverageOptimizer,
    NadamOptimizer as NadamOptimizer,
    PowerSignOptimizer as PowerSignOptimizer,
    ScipyOptimizerInterface as ScipyOptimizerInterface,
    VariableClippingOptimizer as VariableClippingOptimizer,
    clip_gradients_by_global_norm as clip_gradients_by_global_norm,
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
