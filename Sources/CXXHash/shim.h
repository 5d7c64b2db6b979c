#ifndef DOCDB_CXXHASH_SHIM_H
#define DOCDB_CXXHASH_SHIM_H

#include <xxhash.h>

#endif
