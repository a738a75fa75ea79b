"""The same steps where the records are never held together: part by part, here or on a cluster.

assess         records that are never held together, judged column by column: the checks, and the risk that groups
               leave
cells          the cells of a table from parts of its records: once for the mechanism, and once more, by other
               code, for the checks
ingest         ingest in parts: every part of the source read and checked by itself, here or on a cluster
swap           ir_swap column by column: each is read from the parts, swapped by itself, put into the released
               order, and written
validate       validation in parts: the expectations of a part are those of the whole, and what fails in any part
               has failed
working_copy   the working copy of a source that is never held together: one working table for each part
_drawn_once    A draw that is never made twice, whoever is told to make it again
_spread        work on parts, spread: here one after another, or on a Dask cluster
"""
