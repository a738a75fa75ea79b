"""Judge tables: the checks and measures of released cells, counted again from the records.

Begin with `output`, what is judged. Nothing here uses a mechanism's own code.

    checks             the checks of a released table, all counted again from its records
    chosen_group       the records of the one group of which a table shows figures, where it shows those of one only
    contributors       who stands behind a cell: its records, or where units are counted its different units
    counted            the records of a table counted again part by part, and the parts put together
    errors             how far the published figures of a table are from the true ones
    exact              the exact figures of a table that are not its totals, made again: contributors, weighted
                       figures, sampling errors
    impossible         the check of cells that a table declares impossible, found once more from its promise
    measures           measures of a whole table: of public facts, and of the size of its noise
    output             what is judged of a released table: the records behind it, the file as it was read back, and
                       the account of it
    parts              one part of the records of a table, counted again for all checks and measures at once
    relaxation/        what a relaxation of differential privacy bought, and what it leaks: for the confidential page
    rules              the classic rules of tables as numbers: how few stand behind a figure, and how much of it is
                       one of them
    stated_statistics  whether what a release of statistics states about itself fits together; needs no data
    statistic_checks   the checks of released statistics, from their records and declarations; nothing of the
                       mechanism's own code is used
    totals             the cells of a table counted and added up again from the records, by code that no mechanism
                       uses
    _bootstrap_scales  how far one record can move a statistic among data sets made of the actual records, computed
                       again from the records
    _coarser_levels    the check of coarser levels: their groups are those of the declared taxonomy
    _linked            the check of figures that several linked tables show
    _figures           the checks of what a table shows: its columns, its rows, its margins, and where its figures
                       come from
    _noise             the checks of the noise of a table: what it spends, whether it suffices, whether the figures
                       come from it
    _noise_size        whether noise is smaller than it can be by chance: an exact, one-sided test over any number of
                       independent noises
    _sampling          the check of sampling errors under noise: of what the noisy sums of squares are, and of what
                       stands beside them
    _strata            sampling errors by strata, made again from the records: one sorting by stratum, row and unit for
                       each level
    _promise           the promise of a table and the public facts about its noise, read as what they must be, or
                       refused
    _secret_size_moves how far a statistic moves when one record comes or goes, for the same check
    _several_moves     how far several records of a group move a statistic, for the check of its noise
    _statistic_facts   the promise of released statistics and the public facts about their noise, read as what they
                       must be, or refused
    _together_facts    totals of a group that are drawn together, read in the same way
"""
