"""The sources' printed tables, recomputed beside the print. Reproduction: no guarantee, never a release.

The printed numbers are in printed/.

    entry          What a table of a source is: its place, its data set, what recomputes and draws it
    beside_print   A recomputed number beside a printed one: what counts as agreement, and what is known to be
                   misprinted
    computed/      what the sources computed, kept to recompute their printed tables
    errata/        what we corrected in the sources, each error with a case that shows it
    tables         `penstock reproduce`: the list of all tables, and how they compare
    pictures       figures drawn again, as SVG that stands inside a page
    page           `penstock reproduce --html`: tables, figures and errata in one file
    reference      docs/reproduction.md

A module for each source or chapter has its tables, each row a recomputed number beside a printed one:

    thesis_3       who can be linked, and correlations after groups and exchanges
    thesis_4       noise that the thesis calls optimal
    refinement     knowledge refinement, the paper and chapter 5 of the thesis
    thesis_6       microaggregation and noise on records
    thesis_6_adult semantic groups and choices on categories
    thesis_7       generalisation, Anatomy, buckets and closeness
    individual     individual differential privacy
    bootstrap      bootstrap differential privacy
"""
