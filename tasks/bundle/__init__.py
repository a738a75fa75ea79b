"""What a bundle holds: the files of each kind of output, their columns in words, and descriptions for catalogues.

cells          what the bundle of a table holds: its files in every format, its columns and its layout in words
               and as data
descriptions   the descriptions in a bundle, for catalogues, archives and registries; made when it is staged, from
               public facts
records        what is told of a bundle of records: their columns, the tables beside them, and how large buckets
               are
"""
