"""What other tools' files say about the columns of a data set, for a first draft of a spec.

imported_column   what a file of another tool tells about columns
roles_file        which kind of file tells the roles: an R script or JSON for sdcMicro, or a DDI Codebook
_ddi              what a DDI Codebook (2.1 to 2.6) declares about variables
_r_call           one call in the text of an R script, read and not evaluated
_sdcmicro         the roles of a problem as sdcMicro's createSdcObj() describes it, from R or from JSON with the
                  same names
"""
