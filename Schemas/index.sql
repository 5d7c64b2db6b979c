-- One secondary index; {N} is its number in `indexes`. value is order-preserving (order-encoding.md), the id its last component.
-- Each living document has one entry for each distinct value of an array path, else one; a missing value is an entry's part too.
CREATE TABLE index_{N} (
    value BLOB NOT NULL,
    key INTEGER NOT NULL,
    PRIMARY KEY (value, key)
) WITHOUT ROWID;
