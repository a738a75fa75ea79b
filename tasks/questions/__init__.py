"""Questions of analysts, one at a time: which records, what is settled, the exact aggregates, the charged draw, the
signed answer.

answered   an answer as it is handed to whoever asked, and where its page is
asking     A settled question is answered: from the store, or by a draw that is charged before anybody sees it
drawn      the picture of how far answers may stray, from what their methods expect
identity   which records a question is about: the digests of its source, kept from one question to the next
page       the page of a stored answer
question   A question, settled before any row is read: what is asked, what it costs, what is promised
reading    the exact aggregates of a question, from the few columns that it needs, batch by batch
_batches   The rows of one group of a Parquet file, batch by batch, by whichever of pyarrow's two readers is the faster
stored     A stored answer, read again: which method gave it
_sealed    Errors that nobody foresaw, while records are evaluated: one failure for all of them
signed     A published answer: one file that anybody can check, signed with the agency's key
"""
