"""`tf.saved_model.utils`: conversion of tensors to TensorInfos and back."""

from gpugraph.library.saved_models.tensor_infos import (
    build_tensor_info as build_tensor_info,
    get_tensor_from_tensor_info as get_tensor_from_tensor_info,
)
