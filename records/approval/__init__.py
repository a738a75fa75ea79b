"""Named people approve what they reviewed, and nothing else.

approval   named people approve what they reviewed, and nothing else
decision   A reviewer's decision: one signature over one bundle, one word and one reason
rule       who must approve, and within what time
state      where the approval of a run stands, folded from its events in the audit log
"""
