"""The audit log: append-only, chained, sealed and signed. What decides is read from it, and from nothing else.

actions       what an event of the audit log can say, and which of them are signed and noted
chain         the chain of digests that makes the log's history hard to rewrite
export        the audit log as JSON Lines that can be checked anywhere, without the database and without its
              secret key
log           the audit log: what happened to each run, append-only, chained, sealed (chain.py) and signed
              (_checkpoint.py)
sighting      where the log stood when something that counts was last added to it, written down in the home
_checkpoint   signed checkpoints: "event n of the log had digest d", in a DSSE envelope
_rows         the tables of the audit log, and their rows as they are stored; whether they can be believed is for
              _scan.py to say
_scan         the log is believed as a whole or not at all: which events a run has is found by reading every one
_walk         that the head follows everything the home has seen, without reading the whole log: for questions,
              which are many
"""
