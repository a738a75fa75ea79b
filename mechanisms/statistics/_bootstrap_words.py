"""What statistics under bootstrap differential privacy promise, what they do not, and how to use them, in words."""

from __future__ import annotations

__all__ = ["ADVICE", "LIMITS", "NEXT_SIZES", "ONE_GROUP", "SAME_SIZES", "STATEMENT"]

STATEMENT = (
    "{epsilon}-bootstrap differential privacy: among data sets that consist of records of the actual one, if one "
    "record is {change}, and if all of them get noise of the size that the actual one gets, {factor}. This holds "
    "conditionally on the noise scale; there is no bound on what the scale itself reveals. "
)
SAME_SIZES = "all data sets that are compared have as many records in every group as the actual one, which is public"
NEXT_SIZES = (
    "of two data sets that are compared one has as many records as the actual one, and the other one more or one less"
)
ONE_GROUP = "The output is one row, of the group {}."
LIMITS = (
    "differential privacy: a person unlike all others in the data is not compared with anybody, and whoever joins "
    "the data later is compared with nobody",
    "any bound on what the size of the noise reveals: it follows the smallest and the largest value, so it is secret",
    "anything by its definition alone, which a release of the data themselves would satisfy too; it means something "
    "only because the mechanism is fixed: figures, or totals that they are made of, plus independent noise of that "
    "size, and nothing else made from the data",
    "protection against reconstruction: from many answers about the same records the scale can be learnt, which is "
    "the distance of the extreme values, or of one of them from a public number",
    "hiding a refusal: figures that no record of the data could change are refused, which tells that all values of a "
    "group are equal, or that the only group that was chosen has no records",
    "accuracy: every figure is noisy, and by how much is secret, except for counts",
)
ADVICE = (
    "The size of the noise is secret, because it follows the extremes of the data; no standard error can be given. "
    "Only counts have noise of a public size, that of one record.",
    "Do not infer that a difference between two figures is real because it is large. A median or an extreme has noise "
    "as wide as all values of its group, however many there are.",
    "Negative counts are noise, not errors. A figure of a group without records is noise.",
    "Figures were drawn one by one, so a minimum need not lie below a median, nor a mean be the quotient of sum and "
    "count.",
)
