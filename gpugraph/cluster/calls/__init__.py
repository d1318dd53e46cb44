"""What calls between processes are made of: proofs, answers, and who may stay connected."""
