-- One secondary index; {N} is its number in `indexes`. value is order-preserving (order-encoding.md), the id its last component.
CREATE TABLE index_{N} (
    value BLOB NOT NULL,
    key INTEGER NOT NULL,
    PRIMARY KEY (value, key)
) WITHOUT ROWID;
