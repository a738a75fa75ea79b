"""Change data: arrays in, arrays and a guarantee out. Pure: no file, no clock, no Prefect.

Begin with `columns` (what is declared), `guarantee` (what is promised) and `mechanism` (what one is to the line);
then read one folder, such as `probabilistic_k_anonymity`. To add a mechanism: a folder with its MECHANISM, its name in
`registry`, the form of what it states in `stated`, and its checks in penstock.measures.recheck.

    clamping                     what is said in public where values may be clamped: that they may be, never whether
                                 any was
    closeness/                   exp(epsilon)-closeness by buckets, and groups of similar confidential values
                                 published as Anatomy
    columns                      what is declared about a column before any row is read
    combinations                 combinations of categories that cannot occur: how they are written, what is wrong
                                 with them, which cells they are
    composition                  what all releases from one data set cost together
    contributions                bound how many records of each unit are used, chosen uniformly at random
    dp_microaggregation/         differentially private microdata by insensitive microaggregation
    guarantee                    the promise that travels with every protected output, and how promises add up
    layout                       what a released table looks like
    linked_layout                what each of several linked tables looks like, and which figures they share
    mechanism                    what a mechanism is to the release line: one object, with its capabilities as data
    models                       the models of promises, each declared once
    microaggregation/            Groups of at least k similar records
    noise/                       exact integer noise: every probability below holds to the last digit, because only
                                 uniform integers are drawn
    numbers/                     exact numbers: as people write them (exact), on a public grid (grid), shares of
                                 epsilon (shares), and as floats that can be compared with a limit (rounding)
    parallel                     columns side by side on the machine's processors
    permutation                  uniform random permutations, exact: every one of the g! orders has probability 1/g!,
                                 the identity included
    phrases                      what every promise of differential privacy says in the same words
    points                       columns as points, so that records of any types have a squared Euclidean distance
    possible                     what a measure can come to under given settings, whatever the data are
    probabilistic_k_anonymity/   probabilistic k-anonymity by swapping, and k-anonymity by microaggregation
    protected                    what a mechanism returns: protected columns together with their promise
    questions/                   typed questions, and the methods that answer them side by side: their promises, errors
                                 and draws
    randomness                   where chance comes from
    recode                       how a declared column is made from a stored one: bands, groups, another name
    refinement/                  Knowledge refinement: answers drawn from a public prior that was sharpened around the
                                 truth
    refusal                      how the house says no: field, rule, value of the setting, remedy; never a value of
                                 the data
    registry                     every mechanism by its name in a spec
    sample                       a random sample of released records: what is published, and why a promise survives it
    shared_file                  several treatments of one file of records: what their promises are worth side by side,
                                 and what nothing bounds
    sound                        columns as they were declared, or a refusal: what every mechanism asks of its input
    spreadsheet                  texts that a spreadsheet would take for formulas when it opens a CSV file
    stated                       what a release states about itself, as types: what mechanisms write and re-checks read
    stated_statistics            the same of statistics
    statistics/                  statistics of groups of records: counts, sums, means, variances, medians, quantiles,
                                 extremes
    table/                       tables of counts, totals and means by declared dimensions, with noise by model or
                                 exact
    taxonomy                     taxonomies of categories: how far two categories are apart, and how far one record
                                 can move a block's choice
    without_domain               what is said where a column has a resolution in place of a domain
"""
