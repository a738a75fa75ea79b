"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be.

bundle   signature, digests, approvals, and what the promise shows of itself; what each kind of output claims is in
         penstock.tasks.outputs.claims
"""
