"""`tf.contrib.image`: rotation, translation, and other transforms of images."""

from gpugraph.library.contrib.images import (
    angles_to_projective_transforms as angles_to_projective_transforms,
    bipartite_match as bipartite_match,
    compose_transforms as compose_transforms,
    dense_image_warp as dense_image_warp,
    flat_transforms_to_matrices as flat_transforms_to_matrices,
    interpolate_spline as interpolate_spline,
    matrices_to_flat_transforms as matrices_to_flat_transforms,
    rotate as rotate,
    sparse_image_warp as sparse_image_warp,
    transform as transform,
    translate as translate,
    translations_to_projective_transforms as translations_to_projective_transforms,
)
