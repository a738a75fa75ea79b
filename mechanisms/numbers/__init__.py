"""Exact numbers: as people write them (exact), on a public grid (grid), without a known domain too (reach), shares of
epsilon (shares), as floats that can be compared with a limit (rounding), and as people read them beside their error
(rounded)."""
