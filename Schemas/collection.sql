-- One collection; {N} is its number in `collections`.
-- id has no declared type: strings are TEXT, integers INTEGER, other ids canonical CBOR.
-- body is the visible document (NULL where it is deleted), state its CRDT metadata (document-state.md).
CREATE TABLE documents_{N} (
    key INTEGER PRIMARY KEY,
    id NOT NULL UNIQUE,
    body BLOB,
    state BLOB NOT NULL,
    last_change INTEGER NOT NULL
);
