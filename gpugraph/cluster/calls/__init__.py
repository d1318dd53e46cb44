"""Components of calls between processes: proofs, answers, and the supervision of connections."""
