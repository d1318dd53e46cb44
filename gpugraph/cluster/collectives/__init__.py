"""Collectives over processes: members meet and exchange data while stages of a run continue."""
