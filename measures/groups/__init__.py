"""Judge groups of records with buckets: their checks and measures, counted again from the records.

Begin with `output`, what is judged.

    checks     the checks of groups with buckets, all counted again from the records
    measures   measures of groups with buckets
    output     what is judged of groups with buckets: the records behind them, what was read back, and the account of
               it
    _counts    records counted by group and bucket, in whole numbers
    _labels    labels of buckets, read as someone reads them who has nothing but what is published
    _loss      variation of the quasi-identifiers inside groups
    _promise   what a promise of closeness says, and which columns it is about
    _tables    the tables beside the records, counted again: how often each bucket is in each group, or the values of
               each group
"""
