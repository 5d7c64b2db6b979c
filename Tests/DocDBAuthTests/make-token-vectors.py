#!/usr/bin/env python3
"""Writes TokenVectors.swift beside it: tokens, grants and proofs made by another implementation.

Needs the package `cryptography`. Keys and RSA and ECDSA signatures are new each time; nothing else changes.
"""
import base64, hashlib, hmac, json, pathlib, struct
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

NOW = 1_800_000_000
CLAIMS = {
    "iss": "https://issuer.example/", "aud": ["other", "cars-app"], "sub": "user-1", "azp": "cars-client",
    "iat": NOW - 10, "nbf": NOW - 10, "exp": NOW + 3600, "email_verified": True, "scope": "openid cars profile",
    "realm_access": {"roles": ["dealer", "viewer"]}, "tenant": "t-7",
    "https://cars.example/permissions": {"read": {"everything": True}},
}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def text(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def jws(header, payload, sign):
    payload = payload if isinstance(payload, bytes) else text(payload)
    signed = b64(text(header)) + "." + b64(payload)
    return signed + "." + b64(sign(signed.encode()))


def raw_ecdsa(key):
    def sign(data):
        r, s = decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return sign


def pss(key, salt):
    return lambda data: key.sign(data, padding.PSS(padding.MGF1(hashes.SHA256()), salt), hashes.SHA256())


def pkcs1(key):
    return lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256())


def mac(key):
    return lambda data: hmac.new(key, data, hashlib.sha256).digest()


def rsa_jwk(key, kid):
    n = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "use": "sig", "n": number(n.n), "e": number(n.e)}


def ed_bytes(key):
    return key.public_key().public_bytes_raw()


def ed_jwk(key):
    return {"kty": "OKP", "crv": "Ed25519", "x": b64(ed_bytes(key))}


def thumbprint(key):
    return b64(hashlib.sha256(text(ed_jwk(key))).digest())


def framed(*parts):
    return b"".join(struct.pack(">I", len(p)) + p for p in parts)


rsa_key = rsa.generate_private_key(65537, 2048)
weak_rsa = rsa.generate_private_key(65537, 1024)
odd_rsa = rsa.generate_private_key(65537, 2047)
p256 = ec.generate_private_key(ec.SECP256R1())
ed = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
secret = bytes(range(100, 132))
pn = p256.public_key().public_numbers()
p256_jwk = {"kty": "EC", "crv": "P-256", "kid": "ec-1", "x": b64(pn.x.to_bytes(32, "big")),
            "y": b64(pn.y.to_bytes(32, "big"))}
keys = {"keys": [rsa_jwk(rsa_key, "rsa-1"), p256_jwk, ed_jwk(ed) | {"kid": "ed-1", "alg": "EdDSA"},
                 rsa_jwk(weak_rsa, "encryption-1") | {"use": "enc"}, {"kty": "EC", "crv": "P-384", "kid": "ec-2"},
                 {"kty": "unheard-of", "kid": "x"}]}

v = {}
v["keySet"] = text(keys).decode()
v["secretSet"] = text({"keys": [{"kty": "oct", "kid": "hs-1", "k": b64(secret)}]}).decode()
v["weakSet"] = text({"keys": [rsa_jwk(weak_rsa, "rsa-1")]}).decode()
v["oddSet"] = text({"keys": [rsa_jwk(odd_rsa, "rsa-1")]}).decode()
v["mixedSet"] = text({"keys": [{"kty": "oct", "kid": "hs-1", "k": b64(secret)}, p256_jwk]}).decode()
v["rs256"] = jws({"alg": "RS256", "kid": "rsa-1", "typ": "JWT"}, CLAIMS, pkcs1(rsa_key))
v["ps256"] = jws({"alg": "PS256", "kid": "rsa-1", "typ": "JWT"}, CLAIMS, pss(rsa_key, 32))
v["es256"] = jws({"alg": "ES256", "kid": "ec-1", "typ": "at+jwt"}, CLAIMS, raw_ecdsa(p256))
v["edDSA"] = jws({"alg": "EdDSA", "kid": "ed-1"}, CLAIMS, ed.sign)
v["hs256"] = jws({"alg": "HS256", "kid": "hs-1", "typ": "JWT"}, CLAIMS, mac(secret))
# Ways to be wrong that need another's private key.
pem = rsa_key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
der = rsa_key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
modulus = rsa_key.public_key().public_numbers().n.to_bytes(256, "big")
for name, key in (("Pem", pem), ("Der", der), ("Modulus", modulus)):
    v["confusion" + name] = jws({"alg": "HS256", "kid": "rsa-1"}, CLAIMS, mac(key))
v["otherKey"] = jws({"alg": "ES256", "kid": "ec-1"}, CLAIMS, raw_ecdsa(ec.generate_private_key(ec.SECP256R1())))
v["pssLongSalt"] = jws({"alg": "PS256", "kid": "rsa-1"}, CLAIMS, pss(rsa_key, padding.PSS.MAX_LENGTH))
v["rs256AsPS256"] = jws({"alg": "PS256", "kid": "rsa-1"}, CLAIMS, pkcs1(rsa_key))
v["es256Der"] = jws({"alg": "ES256", "kid": "ec-1"}, CLAIMS, lambda d: p256.sign(d, ec.ECDSA(hashes.SHA256())))
v["embeddedKey"] = jws({"alg": "EdDSA", "kid": "ed-1", "jwk": ed_jwk(ed25519.Ed25519PrivateKey.from_private_bytes(
    bytes(32))), "jku": "https://attacker.example/keys", "x5u": "https://attacker.example/x", "x5c": ["AA"]}, CLAIMS,
    ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)).sign)
v["embeddedKeyIgnored"] = jws({"alg": "EdDSA", "kid": "ed-1", "jku": "https://attacker.example/keys", "x5t": "AA"},
                              CLAIMS, ed.sign)

# Grants, from Schemas/grant.md alone.
root = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([1] * 32))
hub = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([2] * 32))
peer = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([3] * 32))
other = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([4] * 32))
for name, key in (("rootKey", root), ("hubKey", hub), ("peerKey", peer), ("otherKeyBytes", other)):
    v[name] = ed_bytes(key).hex()
v["hubThumbprint"] = thumbprint(hub)
v["certificate"] = jws(
    {"alg": "EdDSA", "kid": thumbprint(root), "typ": "docdb-hub-certificate+jwt"},
    {"aud": "cars-app", "cnf": {"jwk": ed_jwk(hub)}, "iat": NOW - 100, "nbf": NOW - 100, "exp": NOW + 100_000,
     "uses": ["sign", "peer"]}, root.sign)
permissions = {"read": {"everything": True},
               "write": {"queriesByCollection": {"cars": ["owner == 'auth|user-1' && state != 'sold'"]}}}
v["permissionsHash"] = hashlib.sha256(text(permissions)).hexdigest()
v["grant"] = jws(
    {"alg": "EdDSA", "kid": thumbprint(hub), "typ": "docdb-grant+jwt"},
    {"iss": "docdb-hub", "jti": "grant-1", "aud": "cars-app", "sub": "auth|user-1", "cnf": {"jwk": ed_jwk(peer)},
     "permissions": permissions, "epoch": 3, "client": {"name": "Ada"}, "iat": NOW, "exp": NOW + 60}, hub.sign)
v["revocation"] = jws(
    {"alg": "EdDSA", "kid": thumbprint(hub), "typ": "docdb-revocation+jwt"},
    {"aud": "cars-app", "sub": "auth|user-1", "issuedBefore": NOW + 1, "seq": 7, "iat": NOW, "exp": NOW + 9000},
    hub.sign)
nonces, hellos = (bytes([5] * 32), bytes([6] * 32)), (b"hello of the initiator", b"hello of the responder")
grant_hash = hashlib.sha256(v["grant"].encode()).digest()
common = framed(b"cars-app", ed_bytes(peer), nonces[0], hellos[0], grant_hash, ed_bytes(hub), nonces[1], hellos[1],
                b"", bytes([7] * 32))
label = framed(b"docdb-session-proof-1")
v["initiatorProof"] = peer.sign(label + b"\x01" + common).hex()
v["responderProof"] = hub.sign(label + b"\x02" + common).hex()
v["loginProof"] = peer.sign(framed(b"docdb-login-proof-1", b"cars-app", nonces[1], ed_bytes(peer), b"auth",
                                   hashlib.sha256(b"token").digest(), bytes([7] * 32))).hex()
v["actor"] = hashlib.sha256(ed_bytes(peer) + nonces[0]).hexdigest()[:32]
body = text({"appID": "cars-app", "provider": "hook", "token": "to\"ken"})
v["webhookBody"] = body.decode()
v["webhookSignature"] = f"t={NOW},v1=" + hmac.new(secret, f"{NOW}.".encode() + body, hashlib.sha256).hexdigest()

lines = ["// Made by make-token-vectors.py with Python's `cryptography`; see there. Not to be edited.", "",
         "/// Tokens, grants and proofs that another implementation made.", "enum TokenVectors {",
         f"    /// The second that all of them were made for.", f"    static let now: Int64 = {NOW}"]
for name, value in v.items():
    lines.append(f'    static let {name} = #"""')
    step = 100
    parts = [value[i:i + step] for i in range(0, len(value), step)]
    lines += ["        " + part + ("\\#" if part is not parts[-1] else "") for part in parts]
    lines.append('        """#')
lines.append("}")
target = pathlib.Path(__file__).parent / "TokenVectors.swift"
target.write_text("\n".join(lines) + "\n")
