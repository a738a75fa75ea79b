"""What other tools' files say about the columns of a data set, for a first draft of a spec.

told        the vocabulary: what may be told about a column, and the refusal
r_call      one call in the text of an R script; nothing is evaluated
sdcmicro    createSdcObj(...) of sdcMicro, as R or as JSON
ddi         a DDI Codebook, as XML
roles_file  which of them a file is
"""
