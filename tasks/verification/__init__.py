"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be.

answer   A published answer: its signature, its form, and that promise and question agree
bundle   signature, digests, approvals, and what the promise shows of itself; what each kind of output claims is in
         penstock.tasks.outputs.claims
"""
