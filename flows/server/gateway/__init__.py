"""The gateway: the only way in which people and programs reach what `penstock serve` serves.

Prefect does whatever its API is told, so nobody meets it. A request passes, in this order:

    patience   bytes that come too slowly or are too many end the connection
    door       host, origin and headers: a request that another site made is refused
    visitors   who it is: a session after signing in, a program's token, or a proxy's word; attempts are limited
    allowed    what this person may do: an allow-list, and bodies rebuilt from the few fields that are known
    app        puts them together, before Prefect, the reports and our own pages

    pages      signing in, and choosing a password
    reports    the reports of runs, by role
    asking     what the gateway itself asks of Prefect

What is not allowed is refused, and looks the same whether it exists or not.
"""
