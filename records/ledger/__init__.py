"""The budget ledger: what the releases of each data set may spend, and what they have spent.

accounts        what the ledger's events say: the accounts of a data set, and what each release cost
analysts        what each analyst may spend of a data set's account on questions: set by an officer, signed, only
                ever raised
answers         tables that were drawn, found again by what they are made of: the same question gets the same
                answer
claims          what a release asks of the ledger before it draws, and the subjects under which it is found again
countable       whether an account can count a claim, whatever it holds
ledger          the budget ledger: what the releases of each data set may spend, and what they have spent
limits          who sets a budget says why and signs it: opening an account and raising its limit
lock            releases of one data set take turns: a second one waits until the first has ended, or waits for
                its reviewers
looks           how many runs learnt something from a data set without being charged for it, and how many may
questions       questions that analysts ask of a data set, one after the other, each charged before its answer is
                seen
_balances       what all questions of one sitting cost together, so that nobody has to add them up again
_checks         why a claim is refused that an account could count: other data, another name, an earlier release,
                too little left
_individuals    what has been asked about each individual, so that one balance is found, and the largest known,
                without all others
_pages          many values by name, of which one is read or written without the others, and none unnoticed: a
                tree of pages
_recount        everything that questions left in the database, recomputed from the events of the log and compared
_stored         answers that were given, found again by the key of their question
_transactions   the events of the ledger, found quickly and none left out
"""
