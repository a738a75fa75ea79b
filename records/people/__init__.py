"""Who may decide, and who may sign in. The audit log is the register of both.

names          what the name of a person looks like
roles          the roles of users
trusted_keys   who may decide: names and the public keys that are trusted for them
users          who may sign in to the pages, and with which roles
visits         what users do on the pages, for the audit log
_secrets       what the passwords and tokens of users are checked against
"""
