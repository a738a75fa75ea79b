"""Groups of records whose confidential values are spread as in the whole, up to a factor.

settings    what a spec says, and whether it fits the columns
bound       t, a fraction not above e^epsilon, and how many buckets it allows
cuts        which bucket every record is in: along sorted values, by categories, or by several columns together
labels      what a bucket is called: an interval or a set of categories, never the value of a few records
allotment   how many records of each bucket every group gets, exactly within the bounds
nearest     what could be done instead, where a request cannot
assigned    which records of a bucket go to which group, and the tables that are published
promises    the promise in words and as data
"""
