-- What version 2 adds to store.sql: what the store knows of its peers. New stores get both; the migration from version 1 runs this.

-- Actors of this store's own, and what their ids come from: the first half of SHA-256(peer_key, nonce).
CREATE TABLE own_actors (
    number INTEGER PRIMARY KEY REFERENCES actors (number),
    nonce BLOB NOT NULL,
    peer_key BLOB NOT NULL
);

-- Documents that are not stored but keep their key, by which the tables below name them. evicted_seq: the commit that evicted
-- the document; NULL for one that was only told of. id as in collection.sql. A document that is stored has no row here.
CREATE TABLE absent_documents (
    collection INTEGER NOT NULL REFERENCES collections (number),
    key INTEGER NOT NULL,
    id NOT NULL,
    evicted_seq INTEGER,
    PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX absent_documents_id ON absent_documents (collection, id);

-- Peers ever met, by the ids of their stores (16 bytes). The number is the origin of log entries, and is never used again.
-- cursor_*: where the pull from the peer resumes (incarnation 16 bytes, interest the hash of what was asked for, 16 bytes).
-- told_count, told_sum: how many documents the peer had told as of the cursor, and the sum of their digests modulo 2^128 (16
-- bytes); current_count, current_sum: the same of the rows that `told` has for the peer.
-- acknowledged_seq: the newest own commit up to which the peer has acknowledged all that concerns it, under this interest
-- (CBOR: true for everything, else an array of collection and predicate in turn; NULL before the first).
CREATE TABLE peers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    store_id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    is_keeper INTEGER NOT NULL,
    last_seen INTEGER NOT NULL,
    cursor_incarnation BLOB,
    cursor_seq INTEGER,
    cursor_interest BLOB,
    cursor_epoch INTEGER,
    told_count INTEGER NOT NULL DEFAULT 0,
    told_sum BLOB NOT NULL DEFAULT (zeroblob(16)),
    current_count INTEGER NOT NULL DEFAULT 0,
    current_sum BLOB NOT NULL DEFAULT (zeroblob(16)),
    acknowledged_seq INTEGER NOT NULL,
    interest BLOB,
    epoch INTEGER NOT NULL
);

-- What each peer has told as in scope, with the digest (16 bytes) of the peer's state of the document.
CREATE TABLE told (
    peer INTEGER NOT NULL REFERENCES peers (number),
    collection INTEGER NOT NULL,
    key INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (peer, collection, key)
) WITHOUT ROWID;

-- Documents not joined: side 0 here, of what the peer sent; side 1 there, of what this store sent. code as on the wire; epoch is
-- that of the permission it was judged under.
CREATE TABLE apart (
    peer INTEGER NOT NULL REFERENCES peers (number),
    side INTEGER NOT NULL,
    collection INTEGER NOT NULL,
    key INTEGER NOT NULL,
    code INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (peer, side, collection, key)
) WITHOUT ROWID;

-- Deltas that wait because a time in them lies too far ahead: of each peer and document the newest one, oldest first by ordinal.
CREATE TABLE quarantine (
    ordinal INTEGER PRIMARY KEY,
    peer INTEGER NOT NULL REFERENCES peers (number),
    collection INTEGER NOT NULL,
    key INTEGER NOT NULL,
    newest_time INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (collection, key, peer)
);

-- Documents to be evicted once a keeper has acknowledged their changes.
CREATE TABLE deferred_evictions (
    collection INTEGER NOT NULL,
    key INTEGER NOT NULL,
    PRIMARY KEY (collection, key)
) WITHOUT ROWID;
