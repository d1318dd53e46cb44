"""`tf.contrib.distributions.bijectors`: functions that transform distributions."""

from gpugraph.library.bijectors.affine_bijectors import (
    Affine as Affine, AffineLinearOperator as AffineLinearOperator, AffineScalar as AffineScalar,
)
from gpugraph.library.layers.normalizing_bijector import BatchNormalization as BatchNormalization
from gpugraph.library.bijectors.bijector import Bijector as Bijector
from gpugraph.library.bijectors.combined_bijectors import (
    Chain as Chain, ConditionalBijector as ConditionalBijector, Inline as Inline, Invert as Invert,
)
from gpugraph.library.bijectors.elementwise_bijectors import (
    AbsoluteValue as AbsoluteValue, Exp as Exp, Gumbel as Gumbel, Identity as Identity,
    Kumaraswamy as Kumaraswamy, PowerTransform as PowerTransform, Sigmoid as Sigmoid,
    SinhArcsinh as SinhArcsinh, Softplus as Softplus, Softsign as Softsign, Square as Square,
    Weibull as Weibull,
)
from gpugraph.library.bijectors.flow_bijectors import (
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow, RealNVP as RealNVP,
    masked_autoregressive_default_template as masked_autoregressive_default_template,
    masked_dense as masked_dense, real_nvp_default_template as real_nvp_default_template,
)
from gpugraph.library.bijectors.matrix_bijectors import (
    CholeskyOuterProduct as CholeskyOuterProduct, FillTriangular as FillTriangular,
    MatrixInverseTriL as MatrixInverseTriL, ScaleTriL as ScaleTriL,
    TransformDiagonal as TransformDiagonal,
)
from gpugraph.library.bijectors.shape_bijectors import (
    Ordered as Ordered, Permute as Permute, Reshape as Reshape, SoftmaxCentered as SoftmaxCentered,
)
