"""Collectives over processes: meetings and exchange of members, in parallel to the stages."""
