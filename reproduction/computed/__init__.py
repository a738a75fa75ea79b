"""What the sources computed, kept to recompute their printed tables. Reproduction, no guarantee.

optimal_noise         variances, intervals and regions of the noise that the thesis calls optimal
noise_shapes          their densities, and which noise is smaller than which
record_wise_laplace   the thesis' noise, U / (k epsilon) on every record and attribute, on the thesis' groups,
                      and the exact error of that noise
census_tables         that noise, MDAV and the corners in turn on one file, as the thesis compares them
semantic_tables       groups, choices and linkage of two nominal columns with taxonomies, on the Adult file
swap_tables           correlations after groups, exchanges in sequence and exchanges in blocks
closeness_examples    closeness of counts and densities, generalisations, and the recipe that misses its t
linkage_examples      who can be linked to whom, by all ways to link
medians               medians of many data sets, and how far their noise strays
individual_tables     intervals and errors that individual differential privacy compares itself by
refinement_tables     examples of knowledge refinement, by the mechanism's own code; shares of delta that lose more
released_farms        totals with the noise of that paper, many times
bootstrap_tables      the ranges inside cells that a paper takes for sensitivities, and its tables of them

The sources promise more for these than holds, and the modules say why. So nothing here can be
published: every function returns a bare array and never a `Protected`, a release accepts nothing else, no spec
can name what is here, and no other module of the product imports it but the command that prints these tables beside the
sources' own, penstock.reproduction.tables, which nothing on the way of a release imports.

    _smooth   the noise that goes with a smooth sensitivity
"""

from __future__ import annotations

from penstock.reproduction.computed.bootstrap_tables import (
    printed_scales,
    printed_sensitivities,
    ratios_of_accuracy,
    shares_of_totals,
)
from penstock.reproduction.computed.census_tables import (
    changes_by_run,
    corner_means,
    counted_corners,
    groups_around,
    masked_runs,
    mdav_means,
    relative_changes,
    taken_in_turn,
)
from penstock.reproduction.computed.closeness_examples import (
    closeness_of,
    counts_by_the_recipe,
    counts_of_a_release,
    masses_of_a_range,
    masses_of_buckets,
    minimal_generalisations,
    rounded_sizes,
)
from penstock.reproduction.computed.individual_tables import clamped_count_error, errors_of_counts, intervals_of_medians
from penstock.reproduction.computed.linkage_examples import (
    chances_of_linking,
    chances_of_staying,
    chances_told_by_groups,
    shares_told,
)
from penstock.reproduction.computed.medians import errors_of_medians, heavy_tailed_density, samples
from penstock.reproduction.computed.noise_shapes import (
    box_marginals,
    laplace_within,
    rearranged_core,
    staircase_density,
    staircase_within,
)
from penstock.reproduction.computed.optimal_noise import (
    least_variances,
    least_widths,
    regions_of_box_noise,
    regions_of_laplace_noise,
)
from penstock.reproduction.computed.record_wise_laplace import (
    add_noise,
    corner_groups,
    expected_squared_error,
    group_means,
    observed_bounds,
)
from penstock.reproduction.computed.refinement_tables import (
    answers_about_one,
    answers_about_two,
    chances_of_noise,
    deltas_of_shares,
    distances_of_answers,
    factors_of_refinement,
    mass_left_in_tail,
    refined_density,
    spread_of_answers,
)
from penstock.reproduction.computed.released_farms import changes_of_samples, released_totals
from penstock.reproduction.computed.semantic_tables import (
    central,
    chances_of_linkage,
    choices,
    expected_error_of_choices,
    groups_around_boundaries,
    groups_by_distance,
    linked_by_choices,
    squared_distances,
)
from penstock.reproduction.computed.swap_tables import (
    correlations,
    exchanged_in_blocks,
    exchanged_in_sequence,
    exchanged_together,
    means_of_all,
    moments_of_changes,
    over_runs,
)

__all__ = [
    "add_noise",
    "answers_about_one",
    "answers_about_two",
    "box_marginals",
    "central",
    "chances_of_linkage",
    "chances_of_linking",
    "chances_of_noise",
    "chances_of_staying",
    "chances_told_by_groups",
    "changes_by_run",
    "changes_of_samples",
    "choices",
    "clamped_count_error",
    "closeness_of",
    "corner_groups",
    "corner_means",
    "correlations",
    "counted_corners",
    "counts_by_the_recipe",
    "counts_of_a_release",
    "deltas_of_shares",
    "distances_of_answers",
    "errors_of_counts",
    "errors_of_medians",
    "exchanged_in_blocks",
    "exchanged_in_sequence",
    "exchanged_together",
    "expected_error_of_choices",
    "expected_squared_error",
    "factors_of_refinement",
    "group_means",
    "groups_around",
    "groups_around_boundaries",
    "groups_by_distance",
    "heavy_tailed_density",
    "intervals_of_medians",
    "laplace_within",
    "least_variances",
    "least_widths",
    "linked_by_choices",
    "masked_runs",
    "mass_left_in_tail",
    "masses_of_a_range",
    "masses_of_buckets",
    "mdav_means",
    "means_of_all",
    "minimal_generalisations",
    "moments_of_changes",
    "observed_bounds",
    "over_runs",
    "printed_scales",
    "printed_sensitivities",
    "ratios_of_accuracy",
    "rearranged_core",
    "refined_density",
    "regions_of_box_noise",
    "regions_of_laplace_noise",
    "relative_changes",
    "released_totals",
    "rounded_sizes",
    "samples",
    "shares_of_totals",
    "shares_told",
    "spread_of_answers",
    "squared_distances",
    "staircase_density",
    "staircase_within",
    "taken_in_turn",
]
