"""`tf.contrib.image` and `tf.contrib.resampler`: image transforms, and interpolation between
pixels.
"""

from gpugraph.library.contrib.images.bipartite_matching import bipartite_match as bipartite_match
from gpugraph.library.contrib.images.image_sampling import (
    dense_image_warp as dense_image_warp,
    resampler as resampler,
)
from gpugraph.library.contrib.images.image_transforms import (
    angles_to_projective_transforms as angles_to_projective_transforms,
    compose_transforms as compose_transforms,
    flat_transforms_to_matrices as flat_transforms_to_matrices,
    matrices_to_flat_transforms as matrices_to_flat_transforms,
    rotate as rotate,
    transform as transform,
    translate as translate,
    translations_to_projective_transforms as translations_to_projective_transforms,
)
from gpugraph.library.contrib.images.spline_warps import (
    interpolate_spline as interpolate_spline,
    sparse_image_warp as sparse_image_warp,
)
