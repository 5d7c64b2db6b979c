#ifndef DOCDB_CLZ4_SHIM_H
#define DOCDB_CLZ4_SHIM_H

#include <lz4.h>

#endif
