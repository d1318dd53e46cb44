"""Files of named arrays in common formats: safetensors and NumPy's `.npz`.

archived_array   an array in a file, and the checks of both formats
safetensors      eight bytes of length, a JSON header, the bytes
npz_files        a zip file of `.npy` files
conversion       between these formats and checkpoints
"""
