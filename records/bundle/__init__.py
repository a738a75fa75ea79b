"""The public bundle: what its manifest says, how it is sealed, and how it appears whole or not at all.

bundle      the public bundle: sealed on the confidential side, installed whole or not at all, checked anywhere
outside     A bundle is published outside the home
places      bundles where they were published: in a local folder or in an object store, told apart here and
            nowhere else
statement   what a manifest says: an in-toto Statement in a DSSE envelope
_upload     A sealed bundle goes to an object store, where it is whole exactly when its manifest exists
"""
