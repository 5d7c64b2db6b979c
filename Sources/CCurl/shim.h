#ifndef DOCDB_CCURL_SHIM_H
#define DOCDB_CCURL_SHIM_H

#include <curl/curl.h>

#endif
