"""Judge records beside their originals: risk, utility, and the checks of the promise.

Begin with `comparison`, what every measure takes, and `output`, what the checks take.

    anonymity          risk that follows from the groups in which values were swapped or averaged
    answer_checks      the checks of records whose values are answers drawn from refined priors
    block_checks       the checks of differentially private microdata made of blocks of records
    comparison         original and released columns side by side: what every measure starts from
    drawn_together     the check of columns that were drawn together for blocks, without impossible combinations
    group_checks       the checks of probabilistic k-anonymity and of k-anonymity
    information_loss   what the data lost: values, means, variances and correlations, original against released
    joint_checks       the check of columns that were answered together, without impossible combinations
    linkage            distance-based record linkage: who can be found again by looking for the nearest original
    output             what is re-checked of released records: the columns before and after, the promise, and the
                       account of the work
    shared_file        a file in which several treatments stand side by side: whether its rows are put together rightly,
                       and its measures
"""
