"""Act: the steps of a release, each a thin task over mechanisms, measures and records. They exchange references, never
rows.

In the order of the line: `ingest`, `validate`, `reserve`, `protect`, `assess`, `report`, `gate`, `approve`, `publish`.

    approve         the run waits until its reviewers have decided about exactly what was staged
    assess          re-check the promise on the staged file, measure risk and utility, decide at the gates
    descriptions    the descriptions in a bundle, for catalogues, archives and registries; made when it is staged, from
                    public facts
    draft/          A first draft of a spec from a Parquet file
    earlier         published once: what a spec has made of a source is not drawn, charged and published again; its
                    receipt comes back
    editions        earlier editions of a release: what was published under its name, in its folder, of other states of
                    its data
    files/          the source, the working columns of a run, and released files
    foreseen        what a release is refused for whatever its records hold: told by a plan, and by a run before it
                    reads any row
    formats/        output formats, one module each
    gate            whether the decision ends the run
    importers/      what other tools' files say about the columns of a data set, for a first draft of a spec
    ingest          the declared columns of the source, checked, on the confidential side of the run
    leave_out       outputs that are refused while the others are published without them, where the spec says so
    look            what the data answer is told only to a run that may look (records/ledger/looks.py)
    outputs/        each kind of output as one object, which the steps call and never ask what it is
    overlaps        releases that share columns with this one: found when the cost is reserved, looked at together at
                    the gates
    parts/          the same steps where the records are never held together: part by part, here or on a cluster
    protect         protect: the only step that draws
    public_page     the public report of a release, from what is public of each of its outputs
    publish         the bundle is staged and settled, then sealed, then appears at its destination whole or not at all
    questions/      questions of analysts: reading, charging, answering, signing
    repeat          A table that was drawn before is not drawn again: it comes back as it was, and nothing is spent
    report          report: the confidential report with every measure
    reserve         the ledger sets aside what the draw will cost, before it, and finds what it overlaps with
    run/            one running release: its plan, its steps, and what others are told of it
    shared_files    files in which the records of several outputs stand side by side: put together after the draws,
                    judged as one
    validate        Great Expectations over the ingested columns; a failed expectation stops the release
    validation/     validation with Great Expectations: what the declared columns imply, and what a suite adds
    verification/   verification of a published bundle, offline: what is checked and, as plainly, what cannot be
    warm_up         compile the numeric kernels once, so that no release waits for a compiler: python -m
                    penstock.tasks.warm_up
"""
