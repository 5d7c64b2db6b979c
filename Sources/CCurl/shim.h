#ifndef DOCDB_CCURL_SHIM_H
#define DOCDB_CCURL_SHIM_H

#include <curl/curl.h>

// What Swift's importer leaves out: variadic functions.

static inline CURLcode docdb_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode docdb_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode docdb_curl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode docdb_curl_set_receiver(
    CURL *easy, CURLoption option, size_t (*receiver)(char *bytes, size_t size, size_t count, void *owner)) {
    return curl_easy_setopt(easy, option, receiver);
}
static inline long docdb_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(easy, info, &value);
    return value;
}

// The next transfer that has ended, with its result; null where there is none.
static inline CURL *docdb_curl_next_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message = NULL;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

#endif
