"""`tf.contrib.opt`: optimizers that are not in `tf.train`.

`adam_variants` has variants of Adam, `full_matrix_optimizers` has Shampoo and GGT,
`regularized_adagrad` has RegAdagrad, `center_variable_optimizers` has asynchronous optimizers,
`sign_optimizers` has the two optimizers that use signs of gradients, `weight_decay` has decoupled
weight decay, `layer_rates` has LARS, `wrapping_optimizers` has optimizers that wrap another
optimizer, and `external_optimizers` is the interface to optimizers outside of the graph.
"""

from gpugraph.library.contrib.optimizers.adam_variants import (
    AdaMaxOptimizer as AdaMaxOptimizer,
    AdamGSOptimizer as AdamGSOptimizer,
    LazyAdamGSOptimizer as LazyAdamGSOptimizer,
    LazyAdamOptimizer as LazyAdamOptimizer,
    NadamOptimizer as NadamOptimizer,
)
from gpugraph.library.contrib.optimizers.center_variable_optimizers import (
    AGNCustomGetter as AGNCustomGetter,
    AGNOptimizer as AGNOptimizer,
    ElasticAverageCustomGetter as ElasticAverageCustomGetter,
    ElasticAverageOptimizer as ElasticAverageOptimizer,
)
from gpugraph.library.contrib.optimizers.external_optimizers import (
    ExternalOptimizerInterface as ExternalOptimizerInterface,
    ScipyOptimizerInterface as ScipyOptimizerInterface,
)
from gpugraph.library.contrib.optimizers.full_matrix_optimizers import (
    GGTOptimizer as GGTOptimizer,
    ShampooOptimizer as ShampooOptimizer,
)
from gpugraph.library.contrib.optimizers.layer_rates import LARSOptimizer as LARSOptimizer
from gpugraph.library.contrib.optimizers.regularized_adagrad import (
    RegAdagradOptimizer as RegAdagradOptimizer,
)
from gpugraph.library.contrib.optimizers.sign_optimizers import (
    AddSignOptimizer as AddSignOptimizer,
    PowerSignOptimizer as PowerSignOptimizer,
)
from gpugraph.library.contrib.optimizers.weight_decay import (
    AdamWOptimizer as AdamWOptimizer,
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
    MomentumWOptimizer as MomentumWOptimizer,
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)
from gpugraph.library.contrib.optimizers.wrapping_optimizers import (
    DropStaleGradientOptimizer as DropStaleGradientOptimizer,
    MovingAverageOptimizer as MovingAverageOptimizer,
    MultitaskOptimizerWrapper as MultitaskOptimizerWrapper,
    VariableClippingOptimizer as VariableClippingOptimizer,
    clip_gradients_by_global_norm as clip_gradients_by_global_norm,
)
