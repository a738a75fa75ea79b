"""Validation with Great Expectations: what the declared columns imply, and what a suite adds.

expectations      what the declared columns imply, what the user adds, and what became of it
_engine           the part that speaks Great Expectations (GX)
_late_imports     modules that a library imports and hardly ever uses are loaded when they are used
_patterns         patterns of a suite, matched by RE2: its time is proportional to the text, whatever the pattern
                  and the text are
_row_conditions   row conditions: which rows an expectation of a suite is about
_suite_settings   what a setting of an expectation may be: a value of the known kind and nothing that could be run
                  or filled in
"""
