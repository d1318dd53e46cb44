"""The index from op types to the modules that declare them. With its help, op families are imported
on first use.

A program that uses a function imports the function's module. Code that only has an op type (a
gradient, a graph from a file, a compiler pass, a Python operator) finds the module here.
`ci/op_index.py` generates the index, and a test compares it with the modules' declarations.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module

from gpugraph.base.deferred_names import one_import_at_a_time
from gpugraph.base.interruptions.signal_handlers import uninterrupted

_PACKAGE = "gpugraph.ops."

INDEX = """
arrays.bitcast Bitcast
arrays.broadcast_gradient_args BroadcastGradientArgs
arrays.cast Cast
arrays.concat_and_stack ConcatOffset ConcatV2 Pack
arrays.constants_and_placeholders Fill OnesLike Placeholder PlaceholderWithDefault ZerosLike
arrays.identity_n GuaranteeConst IdentityN
arrays.masks_and_coordinates BroadcastArgs UnravelIndex
arrays.parallel_stack ParallelConcat
arrays.reshape_and_transpose BroadcastTo ExpandDims InvertPermutation Reshape Squeeze Transpose
arrays.reverse ReverseV2
arrays.reverse_sequence ReverseSequence
arrays.space_to_batch_and_depth BatchToSpace BatchToSpaceND DepthToSpace SpaceToBatch
    SpaceToBatchND SpaceToDepth
arrays.split_and_unstack Split SplitV Unpack
arrays.tile_and_pad MirrorPad MirrorPadGrad Pad PadV2 Tile
boosted_trees.best_splits BoostedTreesCalculateBestFeatureSplit
    BoostedTreesCalculateBestGainsPerFeature BoostedTreesSparseCalculateBestFeatureSplit
boosted_trees.ensemble_ops BoostedTreesCenterBias BoostedTreesCreateEnsemble
    BoostedTreesDeserializeEnsemble BoostedTreesEnsembleResourceHandleOp
    BoostedTreesGetEnsembleStates BoostedTreesSerializeEnsemble BoostedTreesUpdateEnsemble
    BoostedTreesUpdateEnsembleV2 IsBoostedTreesEnsembleInitialized
boosted_trees.ensemble_predictions BoostedTreesExampleDebugOutputs BoostedTreesPredict
    BoostedTreesTrainingPredict
boosted_trees.quantile_stream_ops BoostedTreesBucketize BoostedTreesCreateQuantileStreamResource
    BoostedTreesFlushQuantileSummaries BoostedTreesMakeQuantileSummaries
    BoostedTreesQuantileStreamResourceAddSummaries BoostedTreesQuantileStreamResourceDeserialize
    BoostedTreesQuantileStreamResourceFlush BoostedTreesQuantileStreamResourceGetBucketBoundaries
    BoostedTreesQuantileStreamResourceHandleOp IsBoostedTreesQuantileStreamResourceInitialized
boosted_trees.split_statistics BoostedTreesAggregateStats BoostedTreesMakeStatsSummary
    BoostedTreesSparseAggregateStats
collectives.collective_ops CollectiveBcastRecv CollectiveBcastSend CollectiveGather
    CollectiveReduce _CollectiveExchange _CollectiveInput
control.group_and_no_op NoOp _Arg _LoopEnd _Recv _Retval _Send
control.optional_ops OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone
control.py_func EagerPyFunc PyFunc PyFuncStateless
control.reported_lengths _Lengths
control.switch_merge_and_loop_ops ControlTrigger Enter Exit LoopCond Merge NextIteration RefEnter
    RefExit RefIdentity RefMerge RefNextIteration RefSwitch Switch
datasets.ahead_stages ExperimentalMapAndBatchDataset ExperimentalParallelInterleaveDataset
    MapAndBatchDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2
    ParallelInterleaveDatasetV3 ParallelInterleaveDatasetV4 PrefetchDataset
datasets.batch_stages BatchDataset BatchDatasetV2 DenseToSparseBatchDataset
    ExperimentalDenseToSparseBatchDataset ExperimentalUnbatchDataset PaddedBatchDataset
    PaddedBatchDatasetV2 UnbatchDataset
datasets.directed_stages DirectedInterleaveDataset ExperimentalDirectedInterleaveDataset
datasets.elements.drawn_classes _StatelessMultinomials
datasets.file_stages CacheDataset CacheDatasetV2 FixedLengthRecordDataset
    FixedLengthRecordDatasetV2 TFRecordDataset TextLineDataset
datasets.function_stages ExperimentalScanDataset ExperimentalTakeWhileDataset FilterDataset
    MapDataset ParallelMapDataset ParallelMapDatasetV2 ScanDataset TakeWhileDataset
datasets.group_stages ExperimentalGroupByReducerDataset ExperimentalGroupByWindowDataset
    GroupByReducerDataset GroupByWindowDataset
datasets.iterator_ops DeserializeIterator Iterator IteratorFromStringHandle
    IteratorFromStringHandleV2 IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync
    IteratorToStringHandle IteratorV2 MakeIterator OneShotIterator SerializeIterator
datasets.nested_stages FlatMapDataset InterleaveDataset
datasets.order_stages AssertCardinalityDataset ConcatenateDataset ExperimentalIgnoreErrorsDataset
    ExperimentalMaxIntraOpParallelismDataset ExperimentalPrivateThreadPoolDataset
    ExperimentalUniqueDataset IgnoreErrorsDataset MaxIntraOpParallelismDataset ModelDataset
    OptimizeDataset OptionsDataset PrivateThreadPoolDataset RepeatDataset ShardDataset SkipDataset
    TakeDataset UniqueDataset
datasets.position_ops DatasetToTFRecord ExperimentalDatasetToTFRecord MultiDeviceIterator
    MultiDeviceIteratorGetNextFromShard MultiDeviceIteratorInit _IteratorPosition
    _SetIteratorPosition
datasets.result_ops DatasetCardinality DatasetToSingleElement ExperimentalDatasetCardinality
    ReduceDataset
datasets.shuffle_stages ShuffleAndRepeatDataset ShuffleDataset ShuffleDatasetV3
datasets.source_stages ExperimentalRandomDataset GeneratorDataset RandomDataset RangeDataset
    SparseTensorSliceDataset TensorDataset TensorSliceDataset
datasets.table_stages CSVDataset ExperimentalCSVDataset ExperimentalSqlDataset SqlDataset
datasets.window_stages WindowDataset
datasets.zipped_stages ZipDataset
debugging.assert_kernel Assert
debugging.check_numerics CheckNumerics
debugging.ensure_shape EnsureShape
debugging.timestamp Timestamp
elementwise.arithmetic_functions Add AddN AddV2 Maximum Minimum Mul Pow SquaredDifference Sub
elementwise.bitwise_integers BitwiseAnd BitwiseOr BitwiseXor Invert LeftShift RightShift
elementwise.comparison_and_select Equal Greater GreaterEqual Less LessEqual LogicalAnd LogicalNot
    LogicalOr NotEqual Select SelectV2
elementwise.complex_conjugate Conj
elementwise.complex_parts Angle Complex ComplexAbs Imag Real
elementwise.division Div DivNoNan FloorDiv FloorMod RealDiv TruncateDiv TruncateMod
elementwise.fake_quantization FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient
    FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel
    FakeQuantWithMinMaxVarsPerChannelGradient
elementwise.operator_overloads __abs__ __add__ __and__ __floordiv__ __ge__ __gt__ __invert__
    __le__ __lt__ __matmul__ __mod__ __mul__ __neg__ __or__ __pow__ __radd__ __rand__
    __rfloordiv__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rsub__ __rtruediv__ __rxor__
    __sub__ __truediv__ __xor__
elementwise.quantization_ops Dequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeV2
elementwise.trigonometry Acos Acosh Asin Asinh Atan Atan2 Atanh Cosh Sinh
elementwise.unary_functions Abs Ceil Cos Erf Exp Expm1 Floor Inv IsFinite IsInf IsNan Log Log1p
    Neg Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Softplus Sqrt Square Tan Tanh
elementwise.unary_gradients InvGrad ReciprocalGrad RsqrtGrad SigmoidGrad SoftplusGrad SqrtGrad
    TanhGrad
elementwise.xlogy_and_nextafter MulNoNan NextAfter Xdivy Xlog1py Xlogy
files.checkpoint_ops MergeV2Checkpoints RestoreV2 SaveV2 ShardedFilename ShardedFilespec
    _RestoreSized
files.decode_compressed DecodeCompressed
files.decode_csv DecodeCSV
files.decode_raw DecodeRaw
files.read_and_write_file MatchingFiles ReadFile WriteFile
files.slice_table_ops Restore RestoreSlice Save SaveSlices
files.vocabulary_remapping GenerateVocabRemapping LoadAndRemapMatrix
framework.identity_and_shape Identity PreventGradient Rank Shape ShapeN Size StopGradient
framework.tensor_conversion Const
fusion.fused_op _Fused
fusion.matmul_epilogue _FusedBatchMatMulV2 _FusedMatMul
image.color_adjustments AdjustContrastv2 AdjustHue AdjustSaturation HSVToRGB RGBToHSV
image.combined_suppression CombinedNonMaxSuppression
image.crop_and_resize CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage
image.draw_bounding_boxes DrawBoundingBoxes DrawBoundingBoxesV2
image.extract_glimpse ExtractGlimpse
image.extract_patches ExtractImagePatches ExtractVolumePatches
image.files.gif_and_jpeg_parts DecodeAndCropJpeg DecodeGif ExtractJpegShape
image.files.jpeg_ops DecodeJpeg EncodeJpeg EncodeJpegVariableQuality
image.files.png_and_bmp_ops DecodeBmp DecodeImage DecodePng EncodePng
image.non_max_suppression NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5
    NonMaxSuppressionWithOverlaps
image.resize_ops ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad
    ResizeNearestNeighbor ResizeNearestNeighborGrad
image.sample_distorted_box SampleDistortedBoundingBoxV2
indexing.coordinate_gather_scatter GatherNd ScatterNd
indexing.dynamic_partition DynamicPartition
indexing.gather GatherV2
indexing.gather_tree GatherTree
indexing.one_hot_where_unique DynamicStitch LinSpace OneHot ParallelDynamicStitch Unique Where
indexing.slice_at _SliceAt
indexing.sort_and_search LowerBound NthElement Roll UpperBound
indexing.strided_slice Slice StridedSlice StridedSliceGrad __getitem__
indexing.tensor_scatter TensorScatterAdd TensorScatterMax TensorScatterMin TensorScatterSub
    TensorScatterUpdate
indexing.top_k InTopK InTopKV2 TopKV2
indexing.unique_counts_and_list_diff ListDiff UniqueWithCounts
linalg.cholesky_grad CholeskyGrad
linalg.cross_product Cross
linalg.einsum_op Einsum
linalg.lu_factorization Lu
linalg.matmul BatchMatMulV2 MatMul
linalg.matrix_compositions MatrixSolveLs
linalg.matrix_diag_and_band Diag DiagPart MatrixBandPart MatrixDiag MatrixDiagPart MatrixSetDiag
linalg.matrix_diagonals_v2 MatrixDiagPartV2 MatrixDiagV2 MatrixSetDiagV2
linalg.matrix_exponential MatrixExponential MatrixLogarithm MatrixSquareRoot
linalg.solve_and_cholesky Cholesky LogMatrixDeterminant MatrixDeterminant MatrixInverse
    MatrixSolve MatrixTriangularSolve
linalg.sparse_matmul SparseMatMul
linalg.svd_qr_eigh Qr SelfAdjointEigV2 Svd
linalg.tridiagonal_solve TridiagonalMatMul TridiagonalSolve
linalg.weighted_least_squares MaskedMatmul WALSComputePartialLhsAndRhs
nn.activations.fused_attention _FusedAttention _FusedAttentionWithStatistics
nn.activations.fused_attention_grad _FusedAttentionGrad
nn.activations.relu_and_elu Elu EluGrad LeakyRelu LeakyReluGrad Relu Relu6 Relu6Grad ReluGrad
nn.activations.selu_softsign_swish Selu SeluGrad Softsign SoftsignGrad
nn.activations.softmax LogSoftmax Softmax
nn.convolution.conv2d_ops Conv2D Conv2DBackpropFilter Conv2DBackpropInput
nn.convolution.conv3d_ops Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2
nn.convolution.conv_bias_activation _FusedConv2D
nn.convolution.depthwise_ops DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
    DepthwiseConv2dNativeBackpropInput
nn.convolution.morphological_dilation Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput
nn.losses.candidate_samplers AllCandidateSampler ComputeAccidentalHits
    FixedUnigramCandidateSampler LearnedUnigramCandidateSampler LogUniformCandidateSampler
    UniformCandidateSampler
nn.losses.cross_entropy_ops SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
nn.losses.ctc_decoders CTCBeamSearchDecoder CTCGreedyDecoder
nn.losses.ctc_loss CTCLoss
nn.normalization.bias_and_moments BiasAdd BiasAddGrad
nn.normalization.fused_batch_norm FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2
    FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3
nn.normalization.local_response_normalization LRN LRNGrad
nn.pooling.fractional_pooling FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool
    FractionalMaxPoolGrad
nn.pooling.max_pool_with_argmax MaxPoolGradGradWithArgmax MaxPoolGradWithArgmax MaxPoolWithArgmax
nn.pooling.pool_ops AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad MaxPool MaxPool3D MaxPool3DGrad
    MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad
nn.recurrent.block_gru_ops GRUBlockCell GRUBlockCellGrad
nn.recurrent.block_lstm_ops BlockLSTM BlockLSTMGrad BlockLSTMV2 LSTMBlockCell LSTMBlockCellGrad
older_types.array_op_types AccumulateNV2 CompareAndBitpack Concat ConjugateTranspose Gather
    PopulationCount Reverse TileGrad
older_types.comparison_op_types ApproximateEqual ClipByValue
older_types.data_format_ops DataFormatDimMap DataFormatVecPermute
older_types.in_place_op_types DeepCopy Empty InplaceAdd InplaceSub InplaceUpdate
    TensorStridedSliceUpdate
older_types.non_max_suppression_types NonMaxSuppression NonMaxSuppressionV2
older_types.older_tensor_arrays TensorArray TensorArrayGrad TensorArrayGradV2 TensorArrayPack
    TensorArrayUnpack TensorArrayV2
older_types.ops_of_old_graphs AdjustContrast BatchNormWithGlobalNormalization
    BatchNormWithGlobalNormalizationGrad BatchSelfAdjointEig Conv3DBackpropFilter
    Conv3DBackpropInput PlaceholderV2 QuantizeAndDequantize RandomCrop RandomPoisson
    SelfAdjointEig TopK
older_types.padded_convolution FusedPadConv2D FusedResizeAndPadConv2D
older_types.pooling_by_tensors MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2
older_types.renamed_op_types BatchCholesky BatchCholeskyGrad BatchFFT BatchFFT2D BatchFFT3D
    BatchIFFT BatchIFFT2D BatchIFFT3D BatchMatMul BatchMatrixBandPart BatchMatrixDeterminant
    BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve
    BatchMatrixSolveLs BatchMatrixTriangularSolve BatchSelfAdjointEigV2 BatchSvd BiasAddV1
    FIFOQueue FixedLengthRecordReader HashTable IdentityReader InitializeTable
    InitializeTableFromTextFile LookupTableExport LookupTableFind LookupTableImport
    LookupTableInsert LookupTableSize Mod MutableHashTable MutableHashTableOfTensors
    PaddingFIFOQueue PriorityQueue QueueClose QueueDequeue QueueDequeueMany QueueDequeueUpTo
    QueueEnqueue QueueEnqueueMany QueueIsClosed QueueSize RandomShuffleQueue
    ReaderNumRecordsProduced ReaderNumWorkUnitsCompleted ReaderRead ReaderReadUpTo ReaderReset
    ReaderRestoreState ReaderSerializeState ScatterNdNonAliasingAdd Snapshot StackClose StackPop
    StackPush TFRecordReader TensorArrayClose TensorArrayCloseV2 TensorArrayConcat
    TensorArrayConcatV2 TensorArrayGather TensorArrayGatherV2 TensorArrayRead TensorArrayReadV2
    TensorArrayScatter TensorArrayScatterV2 TensorArraySize TensorArraySizeV2 TensorArraySplit
    TensorArraySplitV2 TensorArrayWrite TensorArrayWriteV2 TextLineReader WholeFileReader
older_types.state_op_types Stack Variable
older_types.unique_along_axis UniqueV2 UniqueWithCountsV2
parsing.json_examples DecodeJSONExample
parsing.parse_example ParseExample ParseSingleExample
parsing.parse_example_v2 ParseExampleV2
parsing.parse_sequence_example ParseSequenceExample ParseSingleSequenceExample
parsing.serialized_sparse DeserializeManySparse DeserializeSparse SerializeManySparse
    SerializeSparse
parsing.serialized_tensors ParseTensor SerializeTensor
queues.accumulator_ops AccumulatorApplyGradient AccumulatorClose AccumulatorNumAccumulated
    AccumulatorSetGlobalStep AccumulatorTakeGradient ConditionalAccumulator
    SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient SparseConditionalAccumulator
queues.barrier Barrier BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize
    BarrierTakeMany
queues.queue_ops FIFOQueueV2 PaddingFIFOQueueV2 PriorityQueueV2 QueueCloseV2 QueueDequeueManyV2
    QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosedV2
    QueueSizeV2 RandomShuffleQueueV2
queues.staging_ops MapClear MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey
    OrderedMapClear OrderedMapIncompleteSize OrderedMapPeek OrderedMapSize OrderedMapStage
    OrderedMapUnstage OrderedMapUnstageNoKey Stage StageClear StagePeek StageSize Unstage
random.gamma_and_poisson RandomGamma RandomPoissonV2
random.multinomial_and_shuffle Multinomial RandomShuffle StatelessMultinomial
random.random_ops RandomStandardNormal RandomUniform RandomUniformInt TruncatedNormal
random.stateless_random StatelessRandomNormal StatelessRandomUniform StatelessRandomUniformInt
    StatelessTruncatedNormal
readers.reader_ops FixedLengthRecordReaderV2 IdentityReaderV2 ReaderNumRecordsProducedV2
    ReaderNumWorkUnitsCompletedV2 ReaderReadUpToV2 ReaderReadV2 ReaderResetV2 ReaderRestoreStateV2
    ReaderSerializeStateV2 TFRecordReaderV2 TextLineReaderV2 WholeFileReaderV2
reductions.argmax_and_argmin ArgMax ArgMin
reductions.histograms Bincount Bucketize HistogramFixedWidth
reductions.ranges_and_running_sums Cumprod Cumsum CumulativeLogsumexp Range
reductions.reduction_ops All Any EuclideanNorm L2Loss Max Mean Min Prod Sum
segments.segment_ops SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax
    UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
segments.sparse_segment_sum SparseSegmentMean SparseSegmentMeanGrad
    SparseSegmentMeanWithNumSegments SparseSegmentSqrtN SparseSegmentSqrtNGrad
    SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments
signal.audio_features AudioSpectrogram Mfcc
signal.fourier_transforms FFT FFT2D FFT3D IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D RFFT RFFT2D
    RFFT3D
signal.wav_ops DecodeWav EncodeWav
sparse.set_operations DenseToDenseSetOperation DenseToSparseSetOperation SetSize
    SparseToSparseSetOperation
sparse.sparse_arithmetic SparseAdd SparseAddGrad SparseReduceMax SparseReduceMaxSparse
    SparseReduceSum SparseReduceSumSparse SparseSoftmax SparseSparseMaximum SparseSparseMinimum
sparse.sparse_reshape_concat_split SparseConcat SparseFillEmptyRows SparseFillEmptyRowsGrad
    SparseReorder SparseReshape SparseSlice SparseSliceGrad SparseSplit
sparse.sparse_with_dense SparseDenseCwiseAdd SparseDenseCwiseDiv SparseDenseCwiseMul
    SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense
special_functions.bessel_functions BesselI0 BesselI0e BesselI1 BesselI1e
special_functions.gamma_and_zeta Digamma Erfc Lgamma Polygamma Zeta
special_functions.incomplete_gamma_and_beta Betainc Igamma IgammaGradA Igammac RandomGammaGrad
special_functions.inverse_error_function Erfinv Ndtri
state.assign_to_slice StridedSliceAssign
state.count_up_to CountUpTo ResourceCountUpTo
state.mutex_ops ConsumeMutexLock MutexLock MutexV2
state.reference_variable_ops Assign AssignAdd AssignSub InitializedValue IsVariableInitialized
    VariableV2
state.resource_variable_ops AssignAddVariableOp AssignSubVariableOp AssignVariableOp
    ReadVariableOp ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA
    ResourceApplyAdam ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2
    ResourceApplyGradientDescent ResourceApplyMomentum ResourceApplyProximalAdagrad
    ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceGather ResourceGatherNd
    ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul
    ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub
    ResourceScatterUpdate ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad
    ResourceSparseApplyAdagradDA ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl
    ResourceSparseApplyFtrlV2 ResourceSparseApplyMomentum ResourceSparseApplyProximalAdagrad
    ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp
    ResourceStridedSliceAssign VarHandleOp VarIsInitializedOp VariableShape
state.scatter_updates ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd
    ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate
state.session_tensors DeleteSessionTensor GetSessionHandle GetSessionTensor
strings.edit_distance EditDistance
strings.hash_buckets Fingerprint StringToHashBucket StringToHashBucketFast
    StringToHashBucketStrong
strings.print_ops Print PrintV2
strings.regex RegexFullMatch RegexReplace StaticRegexFullMatch StaticRegexReplace
strings.sparse_cross SparseCross
strings.string_format StringFormat
strings.string_join ReduceJoin StringJoin UnsortedSegmentJoin
strings.string_ops DecodeBase64 EncodeBase64 StringLength StringLower StringStrip StringUpper
    Substr
strings.string_split StringSplit StringSplitV2
strings.string_to_number AsString StringToNumber
strings.unicode_transcode UnicodeTranscode
summaries.audio_summary_op AudioSummary AudioSummaryV2
summaries.image_summary_op ImageSummary
summaries.merge_summary_op MergeSummary
summaries.scalar_and_histogram_summary_ops HistogramSummary ScalarSummary
summaries.tensor_summary_ops TensorSummary TensorSummaryV2
tables.table_ops HashTableV2 InitializeTableFromTextFileV2 InitializeTableV2 LookupTableExportV2
    LookupTableFindV2 LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2
    LookupTableSizeV2 MutableDenseHashTableV2 MutableHashTableOfTensorsV2 MutableHashTableV2
tensor_arrays.gather_scatter_split_ops TensorArrayConcatV3 TensorArrayGatherV3
    TensorArrayScatterV3 TensorArraySplitV3
tensor_arrays.list_element_ops TensorListElementShape TensorListGetItem TensorListLength
    TensorListPopBack TensorListPushBack TensorListResize TensorListSetItem
tensor_arrays.list_making_ops EmptyTensorList TensorListConcatLists TensorListFromTensor
    TensorListReserve TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2
    TensorListSplit
tensor_arrays.list_stacking_ops TensorListConcat TensorListConcatV2 TensorListGather
    TensorListStack
tensor_arrays.read_write_ops TensorArrayCloseV3 TensorArrayGradV3 TensorArrayGradWithShape
    TensorArrayReadV3 TensorArraySizeV3 TensorArrayV3 TensorArrayWriteV3
tensor_arrays.stack_ops StackCloseV2 StackPopV2 StackPushV2 StackV2
training.dense_updates ApplyAdagrad ApplyAdam ApplyGradientDescent ApplyMomentum ApplyRMSProp
training.ftrl_and_proximal_updates ApplyAdadelta ApplyAdagradDA ApplyCenteredRMSProp ApplyFtrl
    ApplyFtrlV2 ApplyProximalAdagrad ApplyProximalGradientDescent
training.sparse_row_updates SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA
    SparseApplyCenteredRMSProp SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum
    SparseApplyProximalAdagrad SparseApplyProximalGradientDescent SparseApplyRMSProp
"""
"""Entries of a module below `gpugraph.ops` and the op types and operators that the module declares.
"""


def _modules() -> Iterator[tuple[str, str]]:
    module = ""
    for line in INDEX.strip().splitlines():
        names = line.split()
        if not line.startswith(" "):
            module, *names = names
        yield from ((name, module) for name in names)


MODULE_OF = dict(_modules())
"""By op type or Python operator, the module below `gpugraph.ops` that declares it."""


@uninterrupted
def load(name: str) -> None:
    """Import the module that declares an op type or operator. Do nothing for any other name."""
    if (module := MODULE_OF.get(name)) is not None:
        with one_import_at_a_time():
            import_module(_PACKAGE + module)


@functools.cache
def load_all() -> None:
    """Import all modules that declare ops, once."""
    with one_import_at_a_time():
        for module in dict.fromkeys(MODULE_OF.values()):
            import_module(_PACKAGE + module)
