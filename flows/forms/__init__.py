"""The forms that people fill in, in the browser.

question             the form of a question: what an analyst fills in in the browser is asked of a data set
review               the form of a reviewer: a decision that was signed elsewhere is taken, and the waiting run
                     goes on
table                the form of a table: what a statistician fills in in the browser becomes a spec, and the spec
                     is released
_further_table       A further table of one release, as the form of `release-table` asks for it
_further_table       a further table of one release, as the form of `release-table` asks for it
_table_limits        the limits of a table that is asked for in the form: they stand in the data description, for
                     each model
_table_places        the fields of the form of a table: which of them a fault of the spec is about, that the form
                     and the data description made together
_table_places        the fields of the form of a table: which of them a fault of the spec is about, that the form
                     and the data description made together
_table_plan          what the form of a table shows where only a plan was asked for
_table_protections   how a table can be protected, as the form of `release-table` asks for it
"""
