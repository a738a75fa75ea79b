"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be.

bundle             verification of a published bundle, offline: what is checked and, as plainly, what cannot be
_cell_claims       what the manifest of a table claims and its files can show: rows, columns, margins, and cell
                   sizes where promised
_group_claims      what the manifest of grouped records claims and its files can show: sizes of groups, and how
                   close each is to all
_published_files   the data files of a published bundle, as anybody can read them
"""
