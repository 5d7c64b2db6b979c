#ifndef DOCDB_CCRYPTO_SHIM_H
#define DOCDB_CCRYPTO_SHIM_H

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#endif
