"""WAV files."""

from gpugraph.ops.signal.wav_ops import decode_wav as decode_wav, encode_wav as encode_wav
