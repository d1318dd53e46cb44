"""Files of named arrays that others write and read too: safetensors and NumPy's `.npz`.

archived_array   an array in a file, and what both formats check
safetensors      eight bytes of length, a header of JSON, the bytes
npz_files        a zip file of `.npy` files
conversion       one of them, or a checkpoint, as another
"""
