"""Keys and signatures: Ed25519, and everything that is signed in one form.

curve      whether 32 bytes are a public key that only its owner can sign for (Ed25519, RFC 8032, 5.1.3)
envelope   everything that is signed is a DSSE envelope, so that one check opens all of it
keyfile    key files: made once, kept private
signing    Ed25519 keys (RFC 8032) for manifests and decisions; `envelope` signs with them
"""
