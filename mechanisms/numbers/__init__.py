"""Exact numbers: as people write them (exact), on a public grid (grid), shares of epsilon (shares), and as floats that
can be compared with a limit (rounding)."""
