"""The source, the working columns of a run, and released files.

columns          tables on the confidential side of one run, and the released Parquet and CSV files
fingerprint      records known by their values, whatever files hold them: a keyed digest of a multiset of records
_kernels         compiled loops of the digest of values
joined           released files of the same records in the same order, written as one file with the columns of
                 all of them
linked           columns and tables that a mechanism makes from the data: staged with the records, found again
                 after a crash
memory_needed    whether there is memory for what the footers of a source announce, asked before any row is read
memory_release   memory that a library keeps for later is given back
source           reading confidential Parquet: a file, a folder, or a Hive-partitioned folder, here or in an
                 object store
source_digest    A source known by its content: what its files hold and which partitions they are, not what they
                 are called
source_files     the files of a source, on this machine or in an object store, as pyarrow reads them
tables           released tables as files: one row a cell, as their layout says
units            whose records are whose: a number for each record, from names of which nothing is kept
"""
