"""Cross entropies, CTC, sampled losses and their candidates."""
