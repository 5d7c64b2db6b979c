#ifndef DOCDB_CCRYPTO_SHIM_H
#define DOCDB_CCRYPTO_SHIM_H

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>

// Macros that Swift does not import.
static const int docdb_pkey_ed25519 = EVP_PKEY_ED25519;
static const int docdb_rsa_pss_padding = RSA_PKCS1_PSS_PADDING;
static const int docdb_rsa_pkcs1_padding = RSA_PKCS1_PADDING;
static const int docdb_pss_salt_of_digest_length = RSA_PSS_SALTLEN_DIGEST;

// OpenSSL keeps the names of parameters by address: they must be C's own strings.

/* The public key of a type that a builder's parameters describe; takes the builder. */
static inline EVP_PKEY *docdb_pkey_build(const char *type, OSSL_PARAM_BLD *builder) {
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    if (context != NULL && parameters != NULL && EVP_PKEY_fromdata_init(context) == 1
        && EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) != 1)
        key = NULL;
    OSSL_PARAM_free(parameters);
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_BLD_free(builder);
    return key;
}

/* The public key at an encoded point of P-256, or null where it is not on the curve. */
static inline EVP_PKEY *docdb_pkey_p256(const unsigned char *point, size_t length) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder == NULL) return NULL;
    OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
    OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, length);
    return docdb_pkey_build("EC", builder);
}

/* The RSA key of a modulus and an exponent, both big-endian. */
static inline EVP_PKEY *docdb_pkey_rsa(
    const unsigned char *modulus, int modulusLength, const unsigned char *exponent, int exponentLength) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = BN_bin2bn(modulus, modulusLength, NULL);
    BIGNUM *e = BN_bin2bn(exponent, exponentLength, NULL);
    EVP_PKEY *key = NULL;
    if (builder != NULL && n != NULL && e != NULL) {
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n);
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
        key = docdb_pkey_build("RSA", builder);
    } else {
        OSSL_PARAM_BLD_free(builder);
    }
    BN_free(n);
    BN_free(e);
    return key;
}

/* SHA-256 (FIPS 180-4) of short inputs: the one-shot function of OpenSSL 3 looks its algorithm up each time. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline void docdb_sha256(const void *bytes, size_t count, void *output) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, count);
    SHA256_Final((unsigned char *)output, &context);
}
#pragma GCC diagnostic pop

#endif
