"""Files as records need them: that survive a power cut, are digested, come from outside or lie in an object store.

addresses        where things lie: a local path, or an address in an object store such as s3://bucket/folder/
digest           keyed for anything confidential, plain for public files only
durable          files that survive a power cut: written whole or not at all, and on disk before the call returns
object_store     objects in an S3 store: read, listed, put in parts, created once
outside_text     text files from outside: specs, suites, taxonomies, roles, settings
outside_values   what values from outside may be: bounded in number, depth, digits and length, alone and together,
                 and fit to show
outside_yaml     YAML from outside, read event by event, so that its size and its tricks are met before anything
                 is built
store_access     access to an S3 store, from the environment alone
"""
