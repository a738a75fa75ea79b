"""Each kind of output as one object, which the steps call and never ask what it is.

Begin with `output`, what every kind must do; then read one kind.

    output           what an output is to the steps of a release
    records          released records
    part_of_file     records that stand beside those of other outputs in one file
    cells            released tables
    groups           groups of records with buckets
    drawn            what all draws share
    _counted         the cells of a table's records: part by part, or in one pass for several tables
    kinds            the output of given settings, by the kind that their mechanism makes
    claims           the claims of a manifest, read as those of its kind; `penstock verify` needs nothing else of here
    _claims          what every manifest states about its files, and what each kind adds to it
    _record_claims   what the manifest of records claims and its file can show
    _linked_claims   what the files of linked tables show of each other
    _cell_claims     what the manifest of a table claims and its files can show
    _group_claims    what the manifest of grouped records claims and its files can show
"""
