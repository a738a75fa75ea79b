"""One running release: its plan, its steps, and what others are told of it.

events     events for other platforms: a courtesy copy of what the audit log says, through Prefect
job        one running release: its plan, its run folder, its place in the audit log
page       the run's page in Prefect: how far it is, what the gates said, where the reports are
plan       what one release will do, settled before any row is read
step       what every step of a release has in common, in one decorator
steps      the steps of a release in their order, for whoever shows how far one is
_lineage   lineage events to where OPENLINEAGE_URL says: a courtesy copy of the audit log's beginnings and ends
"""
