#ifndef DOCDB_CWEBSOCKETS_SHIM_H
#define DOCDB_CWEBSOCKETS_SHIM_H

#include <libwebsockets.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#endif
