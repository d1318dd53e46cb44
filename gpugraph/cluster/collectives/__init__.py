"""Collectives over processes: who meets, what they send each other, what runs beside the stages."""
