"""TensorFlow's op types that this library does not implement, each with an alternative or the
reason.
"""

from __future__ import annotations

import functools
from fnmatch import fnmatchcase

from gpugraph.ops.op_index import MODULE_OF

_INSTEAD = """
Abort: raise the error in Python, or use tf.debugging.assert_equal
AddManySparseToTensorsMap: use SerializeManySparse and DeserializeManySparse
AddSparseToTensorsMap: use SerializeSparse and DeserializeSparse
ApplyAdaMax: its step is max(beta2 * v, abs(grad)): write it by tf.assign
ApplyAdagradV2: use ApplyAdagrad, and add epsilon to the accumulator that it starts with
ApplyAddSign: write its step by tf.sign and tf.assign_sub
ApplyPowerSign: write its step by tf.sign, tf.exp and tf.assign_sub
Batch: inputs of several runs are not put together: feed a batch, or use tf.train.batch
BlockLSTMGradV2: use tf.gradients
DecodeProtoV2: parse messages by their classes in tf.py_func
DestroyResourceOp: a Session keeps its variables until it is closed
DestroyTemporaryVariable: use tf.Variable, whose Session frees it when it is closed
Fact: an example for those who compile ops against TensorFlow: use tf.register_op
EncodeProto: write messages by their classes in tf.py_func
GetSessionHandleV2: use GetSessionHandle
ImageProjectiveTransformV2: transform images in tf.py_func
ImmutableConst: use numpy.memmap, and tf.placeholder
LMDBReader: files of LMDB need its library: read them in tf.py_func, or store TFRecords
NonDeterministicInts: use tf.random.uniform without seeds
ParameterizedTruncatedNormal: use tf.random.truncated_normal, or draw in tf.py_func
QuantizeDownAndShrinkRange: use tf.quantization.dequantize, then tf.quantization.quantize
QuantizedAdd: use tf.quantization.dequantize, then tf.add
QuantizedAvgPool: use tf.quantization.dequantize, then tf.nn.avg_pool
QuantizedBatchNormWithGlobalNormalization: use tf.nn.batch_normalization of floats
QuantizedBiasAdd: use tf.quantization.dequantize, then tf.nn.bias_add
QuantizedConcat: use tf.quantization.dequantize, then tf.concat
QuantizedConv2D: use tf.quantization.dequantize, then tf.nn.conv2d
QuantizedDepthwiseConv2D: use tf.quantization.dequantize, then tf.nn.depthwise_conv2d
QuantizedInstanceNorm: use tf.quantization.dequantize, then tf.contrib.layers.instance_norm
QuantizedMatMul: use tf.quantization.dequantize, then tf.matmul
QuantizedMaxPool: use tf.quantization.dequantize, then tf.nn.max_pool
QuantizedMul: use tf.quantization.dequantize, then tf.multiply
QuantizedRelu6: use tf.quantization.dequantize, then tf.nn.relu6
QuantizedRelu: use tf.quantization.dequantize, then tf.nn.relu
QuantizedReluX: use tf.quantization.dequantize, then tf.clip_by_value
QuantizedReshape: use tf.quantization.dequantize, then tf.reshape
QuantizedResizeBilinear: use tf.quantization.dequantize, then tf.image.resize_bilinear
RecordInput: use tf.TFRecordReader and tf.train.shuffle_batch
Recv: tensors are sent between devices where tf.device asks for it
RefSelect: use tf.case, or tf.cond
RequantizationRange: use tf.quantization.dequantize, then tf.reduce_min and tf.reduce_max
RequantizationRangePerChannel: use tf.quantization.dequantize, then tf.reduce_min and tf.reduce_max
Requantize: use tf.quantization.dequantize, then tf.quantization.quantize
RequantizePerChannel: use tf.quantization.dequantize, then tf.quantization.quantize
ResourceApplyAdaMax: its step is max(beta2 * v, abs(grad)): write it by tf.assign
ResourceApplyAdagradV2: use ResourceApplyAdagrad, and add epsilon to the accumulator
ResourceApplyAdamWithAmsgrad: use ResourceApplyAdam, or write its step by tf.maximum and tf.assign
ResourceApplyAddSign: write its step by tf.sign and tf.assign_sub
ResourceApplyKerasMomentum: use ResourceApplyMomentum, whose accumulator has no learning rate
ResourceApplyPowerSign: write its step by tf.sign, tf.exp and tf.assign_sub
ResourceSparseApplyAdagradV2: use ResourceSparseApplyAdagrad, and add epsilon to the accumulator
ResourceSparseApplyKerasMomentum: use ResourceSparseApplyMomentum
SampleDistortedBoundingBox: use SampleDistortedBoundingBoxV2, with min_object_covered as a tensor
ScaleAndTranslate: use tf.image.resize_images
ScaleAndTranslateGrad: use tf.image.resize_images
Send: tensors are sent between devices where tf.device asks for it
SparseApplyAdagradV2: use SparseApplyAdagrad, and add epsilon to the accumulator
StringNGrams: there are no ragged tensors: join slices by tf.strings.join
TakeManySparseFromTensorsMap: use SerializeSparse and DeserializeManySparse
TemporaryVariable: use tf.Variable, whose Session frees it when it is closed
ThreadUnsafeUnigramCandidateSampler: use LearnedUnigramCandidateSampler
ToBool: use tf.not_equal to zero, or to an empty string
Unbatch: use tf.unstack
UnbatchGrad: use tf.unstack
UnicodeDecode: there are no ragged tensors: use UnicodeTranscode to UTF-32-BE, and DecodeRaw
UnicodeDecodeWithOffsets: there are no ragged tensors: use UnicodeTranscode to UTF-32-BE
UnicodeEncode: there are no ragged tensors: use UnicodeTranscode from UTF-32-BE
UnicodeScript: Python has no table of scripts: use unicodedata.name in tf.py_func
"""

_GROUPS = """
calls of functions are inlined, use tf.cond and tf.while_loop, or tf.function: Case If For While
    StatelessIf StatelessCase StatelessWhile *PartitionedCall SymbolicGradient RemoteCall FakeParam
    DeviceIndex MapDefun BatchFunction
there are no batches of lists, push to each list: TensorListPushBackBatch
this op on datasets does not exist here, use tf.data: *Dataset *DatasetV?
    *Dataset? *DatasetVariant DatasetTo* DatasetCardinality DatasetFingerprint *DatasetReader
    DatasetFrom* *Iterator Iterator[FGT]* MultiDeviceIterator* GetOptions
    StatsAggregator* ThreadPoolHandle Experimental* *ompressElement
    ComputeBatchSize WindowOp DeleteMemoryCache DeleteSeedGenerator DeleteRandomSeedGenerator
    InitializeTableFromDataset DistributedSave GlobalIterId GetElementAtIndex DummyMemoryCache
    DummySeedGenerator
there is no eager execution, use a graph and a Session: Anonymous*
there are no ragged tensors, use a SparseTensor: Ragged* CompositeTensorVariant*
there are no TPUs: *TPU* Infeed* Outfeed* Prelinearize* *SparseCore* *Coo *CooTensor *Minibatch*
    CrossReplicaSum AllToAll CollectivePermute WorkerHeartbeat
tensors of several GPUs are added by tf.distribute.MirroredStrategy or tf.add_n: Nccl*
graphs are compiled when a Session runs them, there is no XLA, MLIR or TensorRT: *Xla* *Mlir* *TRT*
there is no clustering, use another library's in tf.py_func: KMC2* KmeansPlusPlus* NearestNeighbors
there is no cuDNN, use tf.nn.dynamic_rnn, or LSTMBlockCell: Cudnn*
there is no dual coordinate ascent, use tf.train.FtrlOptimizer: Sdca*
there is no debugger that watches edges, use tf.Print, or fetch tensors: Debug* Copy CopyHost
there are no generators with a state, use tf.random.stateless_uniform with a counter: Rng*
    Stateful*Normal* StatefulRandom* StatefulUniform*
there are no CSR matrices, use a SparseTensor: SparseMatrix* *CSRSparseMatrix*
no kernel computes in quantized numbers, use tf.quantization.dequantize: Quantized*
there are no summaries of TensorFlow 2, use tf.summary.FileWriter: SummaryWriter
    C*SummaryWriter CreateSummary* FlushSummaryWriter ImportEvent Write*Summary
handles of accumulators are theirs of 1.15, use the op type without Resource: FakeQueue
    ResourceAccumulator* ResourceConditionalAccumulator
its tables have no deleted_key, use MutableDenseHashTableV2: MutableDenseHashTable
"""
"""Groups of op types of TensorFlow 1.15 that are not implemented: "reason: patterns of op types".
"""

_LATER = """
ApproxTopK BandedTriangularSolve BatchMatMulV3 BesselJ* BesselK* BesselY* CTCLossV2 CheckNumericsV2
CheckPinned Conv Conv2DBackprop*V2 Dawsn DecodePaddedRaw DenseBincount DenseCountSparseOutput
DisableCopyOnRead Eig Expint ExtractGlimpseV2 FileSystemSetConfiguration Fresnel*
GenerateBoundingBoxProposals ImageProjectiveTransformV3 IsotonicRegression *Jxl MatrixDiagPartV3
MatrixDiagV3 MatrixSetDiagV3 ParseSequenceExampleV2 QuantizeAndDequantizeV4*
RandomIndexShuffle ResourceScatterNdMax ResourceScatterNdMin *Risc* ScatterNdMax ScatterNdMin
SegmentM??V2 SegmentProdV2 SegmentSumV2 SobolSample SparseBincount SparseCountSparseOutput
SparseCrossHashed SparseCrossV2 SparseSegmentSumGrad SparseSegment*GradV2 Spence
StatelessParameterizedTruncatedNormal StatelessRandomBinomial StatelessRandomGammaV3
StatelessRandomGet* StatelessRandom*V[23] StatelessRandomPoisson StatelessRandomUniformFullInt
StatelessSampleDistortedBoundingBox StatelessShuffle StatelessTruncatedNormalV2 SyncDevice
*FFTND *TensorMap* DummyIterationCounter Uniform*uantize* *WebP
"""
"""Patterns of op types that TensorFlow added after version 1.15."""


def _read_groups() -> dict[str, str]:
    rows = (row.partition(": ") for row in _GROUPS.replace("\n    ", " ").strip().splitlines())
    groups = {pattern: reason for reason, _, patterns in rows for pattern in patterns.split()}
    return groups | dict.fromkeys(_LATER.split(), "TensorFlow 1.15 does not have it")


INSTEAD = dict(line.split(": ", 1) for line in _INSTEAD.strip().splitlines())
"""For op types of TensorFlow 1.15 that are not implemented: the replacement."""

GROUP_REASONS = _read_groups()
"""For patterns of op types that are not implemented: the reason. Patterns of 1.15 come first."""


@functools.cache
def left_out_reason(op_type: str) -> str:
    """Return an alternative to an op type of TensorFlow, or the reason why it is not implemented.

    Return the empty string if this library implements the op type, or if TensorFlow does not have
    it.
    """
    if op_type in MODULE_OF:
        return ""
    if op_type in INSTEAD:
        return INSTEAD[op_type]
    patterns = (pattern for pattern in GROUP_REASONS if fnmatchcase(op_type, pattern))
    return GROUP_REASONS.get(next(patterns, ""), "")
