"""The gateway: the only way in which people and programs reach what `penstock serve` serves.

Begin with `app`. A request passes `door` (our name, our pages), `visitors` (who it is), `allowed` (what its role
may do, rebuilt from known fields), and then reaches Prefect (`prefect_client`), or a page of ours.

    allowed          what each role may do, as an allow-list of Prefect's API; what changes something is rebuilt from
                     known fields
    app              the gateway itself: from a request to an answer, or to a polite refusal
    door             which requests are looked at at all: those to our own name, that no other site's page has made
    peer             which user of this machine is at the other end of a loopback connection, as the kernel says
    prefect_client   what the gateway asks of Prefect: in the same process, with the token that no person has
    proxy            A reverse proxy that vouches for people, where an agency signs them in elsewhere
    timeouts         HTTP connections that end when a request does not arrive in time
    visitors         who is at the door: people with a session, programs with a token, or people whom a proxy vouches
                     for
    _answers         the answers to questions, each on a page of its own
    _attempts        wrong passwords, counted by name, so that guessing takes longer than anybody lives
    _forms           read what pages send, within bounds, and rebuild it: forms, and queries that pages read with
    _headers         headers: which may stand once in a request, and what every answer says to browsers
    _pages           the gateway's own pages: signing in, choosing a password, and why somebody was turned away
    _reports         the reports of runs
"""
