"""Show: everything that is rendered, from public facts or for the confidential side.

The templates are in templates/.

    catalogue     A release for catalogues: one JSON-LD document that is a StatDCAT-AP 3 description and a schema.org
                  Dataset
    codebook      A release for data archives: the codebook of its files as DDI Codebook 2.5
    deployment    A release for registries of deployments: model, unit, parameters, accounting; in the sections of the
                  OpenDP registry
    described     what the descriptions of a release are made from: public facts, and nothing else
    lineage       openLineage events of a release: which columns came from which, what was masked, which gates were
                  passed
    page_facts    what the pages of a release are made of: the facts for those who decide about it, and those for data
                  users
    pages         the pages: the validation page and the report for the house, the report for the public, and that of
                  an answer
    period        the period that an edition is about, where its name begins with one
    promise_parts  what the promises of several outputs say alike is said once, and by each output only the rest
    relaxed_words  what a relaxation of differential privacy bought and leaks, in one sentence
    question_picture  how far an answer may lie from the truth, drawn for each method that could give it
    sdmx          A released table for other platforms: its observations as SDMX-CSV 2.0, its structure as SDMX-ML 3.0
    table_sheet   A released table as it is drawn on a page: for every number its text and its place on an axis
    words         numbers and names as the pages show them
    xml_page      XML from a template: what XML cannot hold is replaced, a value that was not given is an error
"""
