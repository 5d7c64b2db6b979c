#ifndef DOCDB_CPCRE2_SHIM_H
#define DOCDB_CPCRE2_SHIM_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

// PCRE2's names are macros over the code unit width, which Swift's importer does not see; its sizes and error codes are macros with casts.

#endif
