-- What users have brought into the tables of a store that only grow, and whose peers are whose: for the limits of users at a
-- hub. Made in any store when first needed, and no part of its version: code that does not know these tables passes them over.

-- id: the UTF-8 bytes of `provider|subject`. Actors and field names that the user's devices were the first to bring.
CREATE TABLE IF NOT EXISTS users (
    id BLOB PRIMARY KEY,
    actor_count INTEGER NOT NULL,
    field_name_count INTEGER NOT NULL
) WITHOUT ROWID;

-- The user of each peer with deltas that wait because of their times.
CREATE TABLE IF NOT EXISTS user_peers (
    peer INTEGER PRIMARY KEY REFERENCES peers (number),
    user BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS user_peers_user ON user_peers (user);
