"""Rows of `module_table`: names that TensorFlow 1.15 exports, under the modules that define them.

Programs and libraries import a public name also from its internal module, sometimes by the internal
name of version 1, such as `reduce_sum_v1`. `ci/against_tensorflow/internal_paths.py` reads all
exports from 1.15's sources, and compares them with these rows and the rows of `module_table`.
"""

from __future__ import annotations

ROWS_OF_EXPORTS = """
contrib.hooks: ProfilerHook=tf.train.ProfilerHook
python.autograph.impl.api: to_code_v1=tf.autograph.to_code to_graph_v1=tf.autograph.to_graph
python.autograph.utils.ag_logging: set_verbosity=tf.autograph.set_verbosity
    trace=tf.autograph.trace
python.compat.v2_compat: disable_v2_behavior=tf.disable_v2_behavior
    enable_v2_behavior=tf.enable_v2_behavior
python.data.experimental.ops.counter: CounterV1=tf.data.experimental.Counter
python.data.experimental.ops.distribute_options:
    DistributeOptions=tf.data.experimental.DistributeOptions
python.data.experimental.ops.interleave_ops:
    choose_from_datasets_v1=tf.data.experimental.choose_from_datasets
    sample_from_datasets_v1=tf.data.experimental.sample_from_datasets
python.data.experimental.ops.random_ops: RandomDatasetV1=tf.data.experimental.RandomDataset
python.data.experimental.ops.readers: CsvDatasetV1=tf.data.experimental.CsvDataset
    SqlDatasetV1=tf.data.experimental.SqlDataset
    make_batched_features_dataset_v1=tf.data.experimental.make_batched_features_dataset
    make_csv_dataset_v1=tf.data.experimental.make_csv_dataset
python.data.experimental.ops.stats_aggregator:
    StatsAggregatorV1=tf.data.experimental.StatsAggregator
python.data.util.structure: _SparseTensorStructure=tf.data.experimental.SparseTensorStructure
    _TensorArrayStructure=tf.data.experimental.TensorArrayStructure
    _TensorStructure=tf.data.experimental.TensorStructure
python.distribute.central_storage_strategy:
    CentralStorageStrategyV1=tf.distribute.experimental.CentralStorageStrategy
python.distribute.cluster_resolver.cluster_resolver:
    UnionClusterResolver=tf.distribute.cluster_resolver.UnionResolver
python.distribute.cluster_resolver.gce_cluster_resolver:
    GCEClusterResolver=tf.distribute.cluster_resolver.GCEClusterResolver
python.distribute.cluster_resolver.kubernetes_cluster_resolver:
    KubernetesClusterResolver=tf.distribute.cluster_resolver.KubernetesClusterResolver
python.distribute.cluster_resolver.slurm_cluster_resolver:
    SlurmClusterResolver=tf.distribute.cluster_resolver.SlurmClusterResolver
python.distribute.cluster_resolver.tpu_cluster_resolver:
    TPUClusterResolver=tf.distribute.cluster_resolver.TPUClusterResolver
python.distribute.collective_all_reduce_strategy:
    CollectiveAllReduceStrategyV1=tf.distribute.experimental.MultiWorkerMirroredStrategy
python.distribute.parameter_server_strategy:
    ParameterServerStrategyV1=tf.distribute.experimental.ParameterServerStrategy
python.eager.context: VirtualDeviceConfiguration=tf.config.experimental.VirtualDeviceConfiguration
    get_log_device_placement=tf.debugging.get_log_device_placement
    list_devices=tf.config.experimental_list_devices
    set_log_device_placement=tf.debugging.set_log_device_placement
python.eager.wrap_function: wrap_function=tf.wrap_function
python.framework.config: get_device_policy=tf.config.experimental.get_device_policy
    get_inter_op_parallelism_threads=tf.config.threading.get_inter_op_parallelism_threads
    get_intra_op_parallelism_threads=tf.config.threading.get_intra_op_parallelism_threads
    get_memory_growth=tf.config.experimental.get_memory_growth
    get_optimizer_experimental_options=tf.config.optimizer.get_experimental_options
    get_optimizer_jit=tf.config.optimizer.get_jit
    get_soft_device_placement=tf.config.get_soft_device_placement
    get_synchronous_execution=tf.config.experimental.get_synchronous_execution
    get_virtual_device_configuration=tf.config.experimental.get_virtual_device_configuration
    get_visible_devices=tf.config.experimental.get_visible_devices
    list_logical_devices=tf.config.experimental.list_logical_devices
    list_physical_devices=tf.config.experimental.list_physical_devices
    set_device_policy=tf.config.experimental.set_device_policy
    set_inter_op_parallelism_threads=tf.config.threading.set_inter_op_parallelism_threads
    set_intra_op_parallelism_threads=tf.config.threading.set_intra_op_parallelism_threads
    set_memory_growth=tf.config.experimental.set_memory_growth
    set_optimizer_experimental_options=tf.config.optimizer.set_experimental_options
    set_optimizer_jit=tf.config.optimizer.set_jit
    set_soft_device_placement=tf.config.set_soft_device_placement
    set_synchronous_execution=tf.config.experimental.set_synchronous_execution
    set_virtual_device_configuration=tf.config.experimental.set_virtual_device_configuration
    set_visible_devices=tf.config.experimental.set_visible_devices
python.framework.constant_op: constant_v1=tf.constant
python.framework.graph_io: write_graph=tf.io.write_graph
python.framework.ops: _colocate_with=tf.colocate_with
python.framework.tensor_conversion_registry:
    register_tensor_conversion_function=tf.register_tensor_conversion_function
python.framework.test_util: TensorFlowTestCase=tf.test.TestCase
    assert_equal_graph_def_v1=tf.test.assert_equal_graph_def
python.keras.layers.recurrent: PeepholeLSTMCell=tf.keras.experimental.PeepholeLSTMCell
python.keras.optimizer_v2.learning_rate_schedule: CosineDecay=tf.keras.experimental.CosineDecay
    CosineDecayRestarts=tf.keras.experimental.CosineDecayRestarts
    LinearCosineDecay=tf.keras.experimental.LinearCosineDecay
    NoisyLinearCosineDecay=tf.keras.experimental.NoisyLinearCosineDecay
python.keras: premade=@python.keras.premade
python.keras.premade: linear=@python.keras.premade.linear
    wide_deep=@python.keras.premade.wide_deep
python.keras.premade.linear: LinearModel=tf.keras.experimental.LinearModel
python.keras.premade.wide_deep: WideDeepModel=tf.keras.experimental.WideDeepModel
python.keras.saving.saved_model_experimental:
    export_saved_model=tf.keras.experimental.export_saved_model
    load_from_saved_model=tf.keras.experimental.load_from_saved_model
python.layers.base: keras_style_scope=tf.layers.experimental.keras_style_scope
    set_keras_style=tf.layers.experimental.set_keras_style
python.lib.io.file_io: copy_v2=tf.io.gfile.copy create_dir_v2=tf.io.gfile.mkdir
    delete_file_v2=tf.io.gfile.remove delete_recursively_v2=tf.io.gfile.rmtree
    file_exists_v2=tf.io.gfile.exists get_matching_files_v2=tf.io.gfile.glob
    is_directory_v2=tf.io.gfile.isdir list_directory_v2=tf.io.gfile.listdir
    recursive_create_dir_v2=tf.io.gfile.makedirs rename_v2=tf.io.gfile.rename
    stat_v2=tf.io.gfile.stat walk_v2=tf.io.gfile.walk
python.module.module: Module=tf.Module
python.ops.array_ops: extract_image_patches_v2=tf.image.extract_patches
python.ops.confusion_matrix: confusion_matrix_v1=tf.math.confusion_matrix
python.ops.image_ops_impl: ResizeMethodV1=tf.image.ResizeMethod
    crop_and_resize_v1=tf.image.crop_and_resize
    resize_image_with_pad_v1=tf.image.resize_image_with_pad
python.ops.init_ops: GlorotNormal=tf.glorot_normal_initializer
    GlorotUniform=tf.glorot_uniform_initializer
python.ops.linalg.linalg_impl: matrix_exponential=tf.linalg.expm
python.ops.lookup_ops: DenseHashTable=tf.lookup.experimental.DenseHashTable
    StaticHashTableV1=tf.lookup.StaticHashTable
    StaticVocabularyTableV1=tf.lookup.StaticVocabularyTable
python.ops.math_ops: bincount_v1=tf.math.bincount matvec=tf.linalg.matvec
    reduce_all_v1=tf.math.reduce_all reduce_any_v1=tf.math.reduce_any
    reduce_logsumexp_v1=tf.math.reduce_logsumexp reduce_max_v1=tf.math.reduce_max
    reduce_mean_v1=tf.math.reduce_mean reduce_min_v1=tf.math.reduce_min
    reduce_prod_v1=tf.math.reduce_prod reduce_sum_v1=tf.math.reduce_sum
python.ops.nn_impl: normalize=tf.linalg.normalize
python.ops.nn_ops: conv3d_v1=tf.nn.conv3d dilation2d_v1=tf.nn.dilation2d
    max_pool_with_argmax_v1=tf.nn.max_pool_with_argmax
    softmax_cross_entropy_with_logits_v2_helper=tf.nn.softmax_cross_entropy_with_logits_v2
python.ops.parsing_ops: decode_raw_v1=tf.decode_raw
python.ops.ragged.ragged_string_ops: string_split=tf.string_split
    strings_split_v1=tf.strings.split
python.ops.sets_impl: set_difference=tf.sets.difference set_intersection=tf.sets.intersection
    set_size=tf.sets.size set_union=tf.sets.union
python.ops.sparse_ops: sparse_cross_hashed=tf.sparse.cross_hashed
    sparse_expand_dims=tf.sparse.expand_dims sparse_eye=tf.sparse.eye
python.ops.stateless_random_ops: stateless_random_normal=tf.random.stateless_normal
    stateless_random_uniform=tf.random.stateless_uniform
python.ops.string_ops: string_to_hash_bucket_v1=tf.strings.to_hash_bucket
    string_to_number_v1=tf.strings.to_number substr_deprecated=tf.substr
python.ops.variable_scope: variable_creator_scope_v1=tf.variable_creator_scope
python.platform.benchmark: TensorFlowBenchmark=tf.test.Benchmark
    benchmark_config=tf.test.benchmark_config
python.saved_model.builder_impl: SavedModelBuilder=tf.saved_model.Builder
python.saved_model.main_op_impl: main_op=tf.saved_model.main_op.main_op
    main_op_with_restore=tf.saved_model.main_op_with_restore
python.saved_model.simple_save: simple_save=tf.saved_model.simple_save
python.ops.critical_section_ops: CriticalSection=tf.CriticalSection
python.training.experimental.loss_scale: DynamicLossScale=tf.train.experimental.DynamicLossScale
    FixedLossScale=tf.train.experimental.FixedLossScale LossScale=tf.train.experimental.LossScale
python.training.experimental.loss_scale_optimizer:
    MixedPrecisionLossScaleOptimizer=tf.train.experimental.MixedPrecisionLossScaleOptimizer
python.training.tracking.python_state: PythonState=tf.train.experimental.PythonState
python.training.tracking.util: CheckpointV1=tf.train.Checkpoint
contrib.checkpoint.python.containers: UniqueNameTracker=tf.contrib.checkpoint.UniqueNameTracker
contrib.data.python.ops.counter: Counter=tf.contrib.data.Counter
contrib.data.python.ops.parsing_ops: parse_example_dataset=tf.contrib.data.parse_example_dataset
contrib.data.python.ops.writers: TFRecordWriter=tf.contrib.data.TFRecordWriter
contrib.distribute.python.collective_all_reduce_strategy:
    CollectiveAllReduceStrategy=tf.contrib.distribute.CollectiveAllReduceStrategy
contrib.distribute.python.mirrored_strategy:
    MirroredStrategy=tf.contrib.distribute.MirroredStrategy
contrib.distribute.python.monitor: Monitor=tf.contrib.distribute.Monitor
contrib.distribute.python.parameter_server_strategy:
    ParameterServerStrategy=tf.contrib.distribute.ParameterServerStrategy
contrib.distributions.python.ops.bijectors.absolute_value:
    AbsoluteValue=tf.contrib.distributions.bijectors.AbsoluteValue
contrib.distributions.python.ops.bijectors.affine:
    Affine=tf.contrib.distributions.bijectors.Affine
contrib.distributions.python.ops.bijectors.affine_linear_operator:
    AffineLinearOperator=tf.contrib.distributions.bijectors.AffineLinearOperator
contrib.distributions.python.ops.bijectors.affine_scalar:
    AffineScalar=tf.contrib.distributions.bijectors.AffineScalar
contrib.distributions.python.ops.bijectors.batch_normalization:
    BatchNormalization=tf.contrib.distributions.bijectors.BatchNormalization
contrib.distributions.python.ops.bijectors.chain: Chain=tf.contrib.distributions.bijectors.Chain
contrib.distributions.python.ops.bijectors.cholesky_outer_product:
    CholeskyOuterProduct=tf.contrib.distributions.bijectors.CholeskyOuterProduct
contrib.distributions.python.ops.bijectors.conditional_bijector:
    ConditionalBijector=tf.contrib.distributions.bijectors.ConditionalBijector
contrib.distributions.python.ops.bijectors.exp: Exp=tf.contrib.distributions.bijectors.Exp
contrib.distributions.python.ops.bijectors.fill_triangular:
    FillTriangular=tf.contrib.distributions.bijectors.FillTriangular
contrib.distributions.python.ops.bijectors.gumbel:
    Gumbel=tf.contrib.distributions.bijectors.Gumbel
contrib.distributions.python.ops.bijectors.inline:
    Inline=tf.contrib.distributions.bijectors.Inline
contrib.distributions.python.ops.bijectors.invert:
    Invert=tf.contrib.distributions.bijectors.Invert
contrib.distributions.python.ops.bijectors.kumaraswamy:
    Kumaraswamy=tf.contrib.distributions.bijectors.Kumaraswamy
contrib.distributions.python.ops.bijectors.masked_autoregressive: tf.contrib.distributions.bijectors
contrib.distributions.python.ops.bijectors.matrix_inverse_tril:
    MatrixInverseTriL=tf.contrib.distributions.bijectors.MatrixInverseTriL
contrib.distributions.python.ops.bijectors.ordered:
    Ordered=tf.contrib.distributions.bijectors.Ordered
contrib.distributions.python.ops.bijectors.permute:
    Permute=tf.contrib.distributions.bijectors.Permute
contrib.distributions.python.ops.bijectors.power_transform:
    PowerTransform=tf.contrib.distributions.bijectors.PowerTransform
contrib.distributions.python.ops.bijectors.real_nvp:
    RealNVP=tf.contrib.distributions.bijectors.RealNVP
    real_nvp_default_template=tf.contrib.distributions.bijectors.real_nvp_default_template
contrib.distributions.python.ops.bijectors.reshape:
    Reshape=tf.contrib.distributions.bijectors.Reshape
contrib.distributions.python.ops.bijectors.scale_tril:
    ScaleTriL=tf.contrib.distributions.bijectors.ScaleTriL
contrib.distributions.python.ops.bijectors.sigmoid:
    Sigmoid=tf.contrib.distributions.bijectors.Sigmoid
contrib.distributions.python.ops.bijectors.sinh_arcsinh:
    SinhArcsinh=tf.contrib.distributions.bijectors.SinhArcsinh
contrib.distributions.python.ops.bijectors.softmax_centered:
    SoftmaxCentered=tf.contrib.distributions.bijectors.SoftmaxCentered
contrib.distributions.python.ops.bijectors.softplus:
    Softplus=tf.contrib.distributions.bijectors.Softplus
contrib.distributions.python.ops.bijectors.softsign:
    Softsign=tf.contrib.distributions.bijectors.Softsign
contrib.distributions.python.ops.bijectors.square:
    Square=tf.contrib.distributions.bijectors.Square
contrib.distributions.python.ops.bijectors.transform_diagonal:
    TransformDiagonal=tf.contrib.distributions.bijectors.TransformDiagonal
contrib.distributions.python.ops.bijectors.weibull:
    Weibull=tf.contrib.distributions.bijectors.Weibull
contrib.distributions.python.ops.conditional_distribution:
    ConditionalDistribution=tf.contrib.distributions.ConditionalDistribution
contrib.distributions.python.ops.conditional_transformed_distribution:
    ConditionalTransformedDistribution=tf.contrib.distributions.ConditionalTransformedDistribution
contrib.distributions.python.ops.moving_stats:
    assign_log_moving_mean_exp=tf.contrib.distributions.assign_log_moving_mean_exp
    assign_moving_mean_variance=tf.contrib.distributions.assign_moving_mean_variance
    moving_mean_variance=tf.contrib.distributions.moving_mean_variance
contrib.distributions.python.ops.normal_conjugate_posteriors: tf.contrib.distributions
contrib.distributions.python.ops.sinh_arcsinh: SinhArcsinh=tf.contrib.distributions.SinhArcsinh
contrib.distributions.python.ops.vector_exponential_diag:
    VectorExponentialDiag=tf.contrib.distributions.VectorExponentialDiag
contrib.distributions.python.ops.vector_sinh_arcsinh_diag:
    VectorSinhArcsinhDiag=tf.contrib.distributions.VectorSinhArcsinhDiag
contrib.framework.python.ops.gen_variable_ops:
    zero_initializer=tf.contrib.framework.zero_initializer
contrib.framework.python.ops.script_ops: py_func=tf.contrib.framework.py_func
contrib.layers.python.layers.rev_block_lib: recompute_grad=tf.contrib.layers.recompute_grad
    RevBlock=tf.contrib.layers.RevBlock rev_block=tf.contrib.layers.rev_block
contrib.metrics.python.metrics.classification: accuracy=tf.contrib.metrics.accuracy
    f1_score=tf.contrib.metrics.f1_score
contrib.metrics.python.ops.confusion_matrix_ops:
    confusion_matrix=tf.contrib.metrics.confusion_matrix
contrib.nn.python.ops.cross_entropy: tf.contrib.nn
contrib.nn.python.ops.scaled_softplus: scaled_softplus=tf.contrib.nn.scaled_softplus
contrib.opt.python.training.multitask_optimizer_wrapper:
    clip_gradients_by_global_norm=tf.contrib.opt.clip_gradients_by_global_norm
contrib.resampler.ops.gen_resampler_ops: resampler=tf.contrib.resampler.resampler
contrib.seq2seq.ops.gen_beam_search_ops: gather_tree=tf.contrib.seq2seq.gather_tree
contrib.sparsemax.python.ops.sparsemax: sparsemax=tf.contrib.sparsemax.sparsemax
contrib.sparsemax.python.ops.sparsemax_loss: sparsemax_loss=tf.contrib.sparsemax.sparsemax_loss
contrib.training.python.training.bucket_ops: bucket=tf.contrib.training.bucket
    bucket_by_sequence_length=tf.contrib.training.bucket_by_sequence_length
contrib.training.python.training.device_setter:
    GreedyLoadBalancingStrategy=tf.contrib.training.GreedyLoadBalancingStrategy
    byte_size_load_fn=tf.contrib.training.byte_size_load_fn
contrib.training.python.training.evaluation:
    wait_for_new_checkpoint=tf.contrib.training.wait_for_new_checkpoint
"""
