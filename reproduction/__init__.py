"""The sources' printed tables, recomputed beside the print. Reproduction: no guarantee, never a release.

The printed numbers are in printed/.

    beside_print   A recomputed number beside a printed one: what counts as agreement, and what is known to be
                   misprinted
    computed/      what the sources computed, kept to recompute their printed tables
    rows           the rows of every table that can be reproduced: a recomputed number beside each printed one
    tables         `penstock reproduce`: which printed tables can be recomputed, and how they compare
"""
