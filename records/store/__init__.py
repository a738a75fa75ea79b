"""All records of one installation: its database, its schema, its backups.

backup        A copy of everything that must be remembered, and how it comes back after a disaster
database      one database for all records: who writes waits for the other writers, and a commit is on disk
migrations/   the schema of the records, step by step (Alembic)
restoring     while a backup is being brought back nothing is released from the home, nor after that was refused
              or killed
store         all records of one installation, opened together
"""
