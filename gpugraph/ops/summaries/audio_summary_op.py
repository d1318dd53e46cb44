"""AudioSummary and AudioSummaryV2, which encode the recordings of a batch as WAV files. Each
recording has its own tag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpugraph.base.errors import invalid_argument as refusal
from gpugraph.base.shapes import shape_text
from gpugraph.formats.summary_bytes import audio_summary
from gpugraph.kernel import Call, KernelContext
from gpugraph.ops.framework.op_declaration import Attr
from gpugraph.ops.signal.wav_format import encoded_wav
from gpugraph.ops.summaries.image_summary_op import numbered_tags
from gpugraph.ops.summaries.scalar_and_histogram_summary_ops import summary_op, tag_of


def _check_recordings(tensor: Any, rate: float) -> None:
    if tensor.ndim not in (2, 3):
        raise refusal(f"Tensor must be 3-D or 2-D, got: {shape_text(tensor.shape)}")
    if not 0 < rate < 1 << 32:
        raise refusal(f"sample_rate must be > 0 (and less than 2**32), got {rate}")
    channels = tensor.shape[2] if tensor.ndim == 3 else 1
    if not 0 < channels < 1 << 15 or not tensor.shape[1]:
        raise refusal(f"there must be frames and channels, got: {shape_text(tensor.shape)}")


def _written(tag: Any, tensor: Any, rate: float, max_outputs: int, out: Any) -> None:
    name = tag_of(tag)
    _check_recordings(tensor, rate)
    whole = max(1, round(rate))
    recordings = tensor if tensor.ndim == 3 else tensor[:, :, None]
    tags = numbered_tags(name, b"audio", min(max_outputs, len(recordings)), max_outputs)
    summaries = (
        audio_summary(text, rate, samples.shape[1], len(samples), encoded_wav(samples, whole))
        for text, samples in zip(tags, recordings, strict=False)
    )
    out[()] = b"".join(summaries)


def _bind_audio(context: KernelContext, tag: Any, tensor: Any, out: Any) -> Callable[[], Any]:
    rate, max_outputs = context.attrs["sample_rate"], context.attrs["max_outputs"]
    return lambda: _written(tag, tensor, rate, max_outputs, out)


def _bind_audio_v2(
    context: KernelContext, tag: Any, tensor: Any, sample_rate: Any, out: Any
) -> Callable[[], Any]:
    max_outputs = context.attrs["max_outputs"]

    def run() -> None:
        if sample_rate.size != 1:
            raise refusal(f"sample_rate must be scalar, got {shape_text(sample_rate.shape)}")
        _written(tag, tensor, float(sample_rate.reshape(())), max_outputs, out)

    return run


_DOC = "A Summary of the first recordings [b, frames] or [b, frames, channels], as WAV files."
_MAX_OUTPUTS = Attr("int", 3, minimum=1)
summary_op(
    "AudioSummary",
    Call(make=_bind_audio),
    _DOC,
    "tag: string, tensor: float32",
    sample_rate=Attr("float", required=True),
    max_outputs=_MAX_OUTPUTS,
)
audio_summary_op = summary_op(
    "AudioSummaryV2",
    Call(make=_bind_audio_v2),
    _DOC,
    "tag: string, tensor: float32, sample_rate: float32",
    max_outputs=_MAX_OUTPUTS,
)
