"""Order: what happens in a release, a review and a nightly check, one page each. Begin with `release`.

account_left           what the accounts of this home have left for a planned release, and for how many like it that
                       is enough
answer                 an answer: one question of an analyst in, one charged answer out, or one refusal on record
forms/                 what people fill in in the browser
interrupted            runs that died between their publication and its record are finished by the next release of
                       the same spec
no_pickles             nothing that a Prefect server names is unpickled, imported or loaded
overdue                runs whose reviewers did not decide in time end refused
planning               the plan: what a spec promises, what it costs, what to expect
prefect_setup          how Prefect is set up for a command, and the server that PREFECT_API_URL names
preview                what `penstock plan` shows before anything runs: the promise, what to expect, the cost
priors                 A prior in a file of its own, for a question
query_remedies         Remedies of a question that name what is declared
query_text             A question as one line of text: a small typed language, never code and never SQL
question_plan          the plan of a question: promise, expected error, cost and what is left, for each method
release                the release line: one spec in, one protected bundle out, or one refusal on record
release_by_reference   the release as a deployment: by reference to a spec file that the agency keeps in one
                       folder
review                 A reviewer's decision: signed, checked, put on record; then the run goes on by itself
run_ends               how a refused flow run ends: its state is named Refused, its message begins with the code,
                       and others are told
server_optional        A flow that needs no Prefect server
spec/                  the spec: one typed file that says everything about one release, checked before any row is
                       read
surroundings           where our processes write besides the records: below the home, whatever the machine looks
                       like
verify_log             the nightly check: log, ledger, decisions, and every published bundle that the log names
"""
