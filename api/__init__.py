"""Penstock: confidential microdata in, a protected bundle with a promise out.

cli/      the command line
server/   `penstock serve`
"""
