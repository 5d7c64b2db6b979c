-- store.sqlite: tables every store has since version 1. Collections and indexes add theirs (collection.sql, index.sql), version 2
-- those of replication.sql.

-- Single facts by name: store_id, current actor, clock reservation, log start. The names are in StoreMetadata.swift.
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- Collections. next_key bounds the document keys in use from above; keys are never used again.
CREATE TABLE collections (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    next_key INTEGER NOT NULL
);

-- Interned field names: the map keys of bodies.
CREATE TABLE field_names (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Interned actors: the actor numbers of states and log records. id is 16 bytes.
CREATE TABLE actors (
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE
);

-- Incarnations of the change log, oldest first. Each holds the log up to last_seq; the newest one has none yet.
CREATE TABLE incarnations (
    ordinal INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    last_seq INTEGER
);

-- Secondary indexes; their entries are in index_N. definition is the canonical text of their paths.
CREATE TABLE indexes (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections (number),
    definition TEXT NOT NULL,
    UNIQUE (collection, definition)
);

-- The change log (see change-log.md). A row is one record (codec 0, the open tail) or a block of them (codec 1, LZ4).
CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    last_time INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    raw_length INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    data BLOB NOT NULL
);
