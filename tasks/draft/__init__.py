"""A first draft of a spec from a Parquet file. It decides nothing that concerns privacy.

spec       A first draft of a spec from a Parquet file
_columns   one column of a draft: how it is stored, what another tool tells about it, and what is left to decide
_values    what a draft asks of the values of a column, a few rows at a time
"""
