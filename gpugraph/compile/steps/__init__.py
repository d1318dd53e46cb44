"""Steps of a plan: their arrays, sizes known only in a run, native code, and CUDA graphs."""
