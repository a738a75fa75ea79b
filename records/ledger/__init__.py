"""The budget ledger: what the releases of each data set may spend, and what they have spent.

accounts        what the ledger's events say: the accounts of a data set, and what each release cost
answers         tables that were drawn, found again by what they are made of: the same question gets the same
                answer
countable       whether an account can count a claim, whatever it holds
ledger          the budget ledger: what the releases of each data set may spend, and what they have spent
limits          who sets a budget says why and signs it: opening an account and raising its limit
lock            releases of one data set take turns: a second one waits until the first has ended, or waits for
                its reviewers
looks           how many runs learnt something from a data set without being charged for it, and how many may
_transactions   the events of the ledger, found quickly and none left out
"""
