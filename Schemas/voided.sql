-- What version 3 adds to replication.sql: changes that a hub has refused because their author may not make them, so that nobody
-- brings them again. document: the first half of SHA-256 over the collection's name, a zero byte and the id's canonical CBOR;
-- actor: 16 bytes; time: of the newest refused change of the actor to the document. The oldest rows go where there are too many.
CREATE TABLE voided (
    ordinal INTEGER PRIMARY KEY,
    document BLOB NOT NULL,
    actor BLOB NOT NULL,
    time INTEGER NOT NULL,
    UNIQUE (document, actor)
);
