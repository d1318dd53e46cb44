"""Patterns of public names that TensorFlow added after 1.15. Paths are relative to `tensorflow`."""

from __future__ import annotations

_NAMES = """
CXX_VERSION NoneTensorSpec approx_top_k check_pinned conv conv2d_backprop_*_v2
nondifferentiable_batch_function random_index_shuffle type_spec_from_value config.*_visible_devices
config.*functions_run_eagerly config.*ogical*evice* config.PhysicalDevice
config.experimental.*_memory_* config.experimental.*able_mlir_bridge
config.experimental.ClusterDeviceFilters config.experimental.get_device_details
config.list_physical_devices config.run_functions_eagerly debugging.*_traceback_filtering*
debugging.*able_check_numerics debugging.experimental.* dtypes.experimental.* experimental.*
image.decode_jxl image.decode_webp image.generate_bounding* io.decode_jxl io.decode_webp
io.gfile.get_registered_schemes io.gfile.join keras.applications.*ConvNeXt*
keras.applications.*EfficientNet* keras.applications.*MobileNetV3* keras.applications.*RegNet*
keras.applications.*ResNetRS* keras.applications.convnext* keras.applications.efficientnet*
keras.applications.mobilenet_v3* keras.applications.regnet* keras.applications.resnet_rs*
keras.activations.mish keras.activations.swish keras.backend.*focal* keras.backend.random_bernoulli
keras.callbacks.SidecarEvaluatorModelExport keras.callbacks.experimental*
keras.datasets.*.load_local keras.export* keras.layers.CategoryEncoding keras.layers.CenterCrop
keras.layers.Conv*1DTranspose keras.layers.ConvLSTM[13]D keras.layers.DepthwiseConv1D
keras.layers.Discretization keras.layers.EinsumDense keras.layers.Hashing keras.layers.Identity
keras.layers.MultiHeadAttention keras.layers.Normalization keras.layers.Rescaling
keras.layers.Resizing keras.layers.experimental* keras.losses.*[Ff]ocal* keras.losses.kl_divergence
keras.losses.log_cosh keras.metrics.*[Ff]ocal* keras.metrics.*IoU keras.metrics.F1Score
keras.metrics.FBetaScore keras.metrics.MeanMetricWrapper keras.metrics.PrecisionAtRecall
keras.metrics.R2Score keras.metrics.RecallAtPrecision keras.metrics.kl_divergence
keras.metrics.log*cosh keras.models.LinearModel keras.models.WideDeepModel keras.optimizers.legacy*
keras.optimizers.schedules.CosineDecay* keras.regularizers.L[12] keras.saving*
keras.utils.DeterministicRandomTestTool keras.utils.StepsPerExecutionTuner
keras.utils.*_interactive_logging* keras.utils.get_or_create_layer keras.utils.legacy*
keras.utils.to_ordinal keras.utils.track_tf1_style_variables keras.utils.warmstart_embedding_matrix
linalg.eigh_tridiagonal linalg.experimental.* lookup.experimental.MutableHashTable
math.approx* math.sobol_sample math.special*
mixed_precision* nn.approx* nn.experimental.* nn.silu quantization.experimental.*
quantization.quantize_and_dequantize_v2 random.Algorithm random.fold_in random.split
random.stateless_binomial random.stateless_gamma random.stateless_parameterized*
random.stateless_poisson saved_model.Asset saved_model.SaveOptions
saved_model.signature_def_utils.MethodNameUpdater signal.*mdct *fftnd signal.kaiser* signal.vorbis*
sparse.bincount test.disable_with_predicate test.experimental* test.is_cpu_target_available
test.with_eager_op_as_function train.CheckpointOptions train.experimental.MaxShardSizePolicy
train.experimental.Shard* types.*
OptionalSpec data.AUTOTUNE data.INFINITE_CARDINALITY data.NumpyIterator data.ThreadingOptions
data.UNKNOWN_CARDINALITY data.experimental.Autotune* data.experimental.DatasetInitializer
data.experimental.ExternalStatePolicy data.experimental.SHARD_HINT
data.experimental.ServiceOptions data.experimental.distributed_save
data.experimental.enable_debug_mode data.experimental.from_list
data.experimental.get_model_proto data.experimental.*table_from_dataset
data.experimental.pad_to_cardinality data.experimental.snapshot data.experimental.service*
distribute.RunOptions distribute.cluster_resolver.KubernetesExecutableLocation
distribute.experimental.CollectiveHints distribute.experimental.Communication*
keras.utils.array_to_img keras.utils.get_registered_name keras.utils.get_registered_object
keras.utils.img_to_array keras.utils.load_img keras.utils.pad_sequences
keras.utils.register_keras_serializable keras.utils.save_img
linalg.LinearOperatorBlockLowerTriangular linalg.LinearOperatorPermutation
linalg.LinearOperatorTridiag raw_ops.Collective*V[23] raw_ops.CollectiveInitializeCommunicator
"""

PATTERNS = _NAMES.split()
"""The patterns, in the syntax of `fnmatch`. Each is for one name or for a group of names."""
