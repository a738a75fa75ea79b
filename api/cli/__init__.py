"""The command line: one module for each group of commands. Begin with `main`.

main           the command line: `penstock --help`
_answers       the plan of a question and its answer, as `penstock ask` and `penstock verify` show them
_ask           `penstock ask`: a question of confidential data, its plan, and its answer
_audit         `penstock audit`: the audit log, shown, checked and exported
_backup        `penstock backup` and `penstock restore`: everything that must be remembered, copied and brought
               back
_budget        `penstock budget`: the accounts of each data set, what each release cost, and how often runs may
               look in vain
_demo          the demo: a synthetic survey, released end to end
_options       what several commands share: their options, and the files that they write
_planned       the plan of a release, as `penstock plan` shows it: of one output, or of several under what they share
_refusals_page the page of all refusals, written from their classes
_reproduce     `penstock reproduce`: the sources' printed tables, recomputed beside the print
_review        `penstock approve`, `refuse`, `withdraw`, `sign` and `keys`: people and their decisions
_screen        what the command line shows: text for people on a terminal, or one JSON document
_serve         `penstock serve` on the command line
_termination   SIGTERM ends a command within seconds, wherever it is
_users         `penstock users`: who may sign in to the pages, and with which roles
"""
