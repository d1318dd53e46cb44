"""WAV files and features of recordings. The expected numbers are TensorFlow 2.21's."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import gpugraph as tf
from gpugraph import raw_ops
from gpugraph.ops.signal.audio_features import audio_spectrogram, mfcc

_RANDOM = np.random.RandomState(0)
SOUND = (np.sin(np.arange(1500) * 0.05) * 0.5 + _RANDOM.randn(1500) * 0.1).astype(np.float32)
STEREO = np.stack([SOUND, SOUND * np.float32(0.3)], 1)


def test_a_recording_is_written_and_read() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        file = tf.audio.encode_wav(STEREO, 16000)
        whole = tf.audio.decode_wav(file)
        part = tf.audio.decode_wav(file, desired_channels=3, desired_samples=2000)
        assert part.audio.shape.as_list() == [2000, 3] and whole.sample_rate.shape.rank == 0
        samples, other = session.run([whole, part])
    assert samples.sample_rate == 16000 and samples.audio.dtype == np.float32
    np.testing.assert_allclose(samples.audio, STEREO, atol=1.01 / (1 << 16))
    np.testing.assert_array_equal(other.audio[:1500, 2], samples.audio[:, 1])
    assert not other.audio[1500:].any()


@pytest.mark.parametrize(
    "start, change, message",
    [
        (0, b"", "Data too short"),
        (0, b"RIFX", "Expected RIFF but found RIFX"),
        (20, struct.pack("<H", 3), r"Expected 1 \(PCM\)"),
        (34, struct.pack("<H", 8), "Expected 16, but got 8"),
        (36, b"rest", "No data chunk"),
        (40, struct.pack("<I", 1 << 20), "Data too short"),
    ],
)
def test_damaged_files(start: int, change: bytes, message: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = session.run(tf.audio.encode_wav(STEREO[:9], 8000))
        bad = data[:start] + change + data[start + len(change) :] if change else b""
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(tf.audio.decode_wav(bad).audio)


def test_spectrogram_and_cepstrum() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        spectrum = audio_spectrogram(STEREO, 400, 160, magnitude_squared=True)
        features = mfcc(spectrum, 16000)
        other = mfcc(spectrum, 16000, 7000.0, 0.0, 20, 12)
        root = audio_spectrogram(STEREO, 400, 160)
        assert features.shape.as_list() == [2, 7, 13]
        values, actual, wide, magnitudes = session.run([spectrum, features, other, root])
        short = session.run(audio_spectrogram(STEREO[:9], 16, 4))
    np.testing.assert_allclose(values[1, 2, 5], 113.481674, rtol=1e-5)
    np.testing.assert_allclose(magnitudes**2, values, rtol=1e-4, atol=1e-6)
    expected = [11.8465, -0.3505, 2.15, 2.7403, 2.303, 1.3188, 1.262, -0.068, -0.3697]
    np.testing.assert_allclose(actual[0, 1, :9], expected, atol=1e-3)
    np.testing.assert_allclose(wide.sum(), 262.313375, rtol=1e-4)
    assert short.shape == (2, 0, 9)


def test_bad_banks() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        spectrum = np.ones((1, 2, 33), np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Mfcc initialization failed"):
            session.run(mfcc(spectrum, 16000, lower_frequency_limit=5000.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="at most"):
            session.run(mfcc(spectrum, 16000, dct_coefficient_count=50))
        with pytest.raises(ValueError, match="Window size"):
            raw_ops.AudioSpectrogram(input=STEREO, window_size=1, stride=1)
        with pytest.raises(ValueError, match="Stride"):
            raw_ops.AudioSpectrogram(input=STEREO, window_size=4, stride=0)
