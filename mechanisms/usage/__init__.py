"""What a data user needs to know about columns under a mechanism.

One module for each, with `treatments(params, declared)` (what was done to each released column) and
`advice(params, declared)` (how to use the data).
"""
