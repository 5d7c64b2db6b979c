#ifndef DOCDB_CSQLITE_SHIM_H
#define DOCDB_CSQLITE_SHIM_H

#include <sqlite3.h>

// What Swift's importer leaves out: casts to function pointers and variadic functions.

static inline int docdb_sqlite3_bind_text_transient(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p, n, SQLITE_TRANSIENT);
}
static inline int docdb_sqlite3_bind_text_static(sqlite3_stmt *s, int i, const char *p, int n) {
    return sqlite3_bind_text(s, i, p, n, SQLITE_STATIC);
}
static inline int docdb_sqlite3_bind_blob_transient(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p, n, SQLITE_TRANSIENT);
}
static inline int docdb_sqlite3_bind_blob_static(sqlite3_stmt *s, int i, const void *p, int n) {
    return sqlite3_bind_blob(s, i, p, n, SQLITE_STATIC);
}
static inline int docdb_sqlite3_config_int(int option, int value) {
    return sqlite3_config(option, value);
}
static inline int docdb_sqlite3_db_config_int(sqlite3 *db, int option, int value) {
    return sqlite3_db_config(db, option, value, (int *)0);
}

// An open file of a VFS that is written in Swift: what SQLite knows of it, and the object that stands for it.
typedef struct docdb_sqlite3_file {
    sqlite3_file base;
    void *object;
} docdb_sqlite3_file;

#endif
