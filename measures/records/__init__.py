"""Judge records beside their originals: risk, utility, and the checks of the promise.

Begin with `comparison`, what every measure takes, and `output`, what the checks take.

    anonymity          risk that follows from the groups in which values were swapped or averaged
    answer_checks      the checks of records whose values are answers drawn from refined priors
    balance            error and linkages of a release beside those of another: factors, and the score of both
    block_checks       the checks of differentially private microdata made of blocks of records
    classes            records that look alike: among whom an intruder cannot tell
    comparison         original and released columns side by side: what every measure starts from
    disclosure         what a class of records tells about the confidential values of its members
    distances          records as points between which an attacker, or a loss, is measured
    drawn_together     the check of columns that were drawn together for blocks, without impossible combinations
    group_checks       the checks of probabilistic k-anonymity and of k-anonymity
    informed           linkage by an intruder who knows some confidential values of a person
    information_loss   what the data lost: values, means, variances and correlations, original against released
    joint_checks       the check of columns that were answered together, without impossible combinations
    linkage            distance-based record linkage: who can be found again by looking for the nearest original
    matching           the probability of a link where any released record may be anybody's
    output             what is re-checked of released records: the columns before and after, the promise, and the
                       account of the work
    shared_file        a file in which several treatments stand side by side: whether its rows are put together rightly,
                       and its measures
    _earth_mover       the earth mover's distance from each class of records to all of them
    _kernels           compiled search for the nearest points, and for what they hold
"""
