#ifndef DOCDB_CWEBSOCKETS_SHIM_H
#define DOCDB_CWEBSOCKETS_SHIM_H

#include <libwebsockets.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

// What Swift's importer leaves out: macros with casts, large structures of options, and constants whose type differs
// between systems.

static const int docdb_socket_stream = SOCK_STREAM;
// RFC 2253, with letters outside ASCII as they are.
static const unsigned long docdb_x509_name_flags = XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
static const int docdb_lws_pre = LWS_PRE;
static const int docdb_lws_write_binary = LWS_WRITE_BINARY;
static const int docdb_lws_write_continuation = LWS_WRITE_CONTINUATION;
static const int docdb_lws_write_no_fin = LWS_WRITE_NO_FIN;
static const int docdb_lws_write_ping = LWS_WRITE_PING;
// The library's own name for this one is in a private header; the value is left out of the public enumeration for it.
static const int docdb_lws_write_close = 4;
static const int docdb_lws_write_http_headers = LWS_WRITE_HTTP_HEADERS;

// A timer of the event loop and whose it is; the timer comes first, so that a pointer to it is one to the whole.
struct docdb_lws_timer {
    lws_sorted_usec_list_t list;
    void *owner;
};

static inline void docdb_lws_silent_log(int level, const char *line) {
    (void)level;
    (void)line;
}
static inline void docdb_lws_silence(void) { lws_set_log_level(0, docdb_lws_silent_log); }

// A loop of libuv, for the WebSocket library to use; one that it made itself would take over the process's signals.
static inline void *docdb_uv_create(void) {
    uv_loop_t *loop = (uv_loop_t *)malloc(uv_loop_size());
    if (loop && uv_loop_init(loop) != 0) {
        free(loop);
        loop = NULL;
    }
    return loop;
}
static inline void docdb_uv_destroy(void *loop) {
    uv_loop_close((uv_loop_t *)loop);
    free(loop);
}
static inline int docdb_uv_run(void *loop) { return uv_run((uv_loop_t *)loop, UV_RUN_DEFAULT); }

// The event loop over `poll` or, where `uv_loop` is one, over that.
static inline struct lws_context *docdb_lws_create_context(
    void *user, const struct lws_protocols *protocols, int timeout_seconds, int head_byte_count, int service_byte_count,
    void *uv_loop) {
    void *loops[] = {uv_loop};
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof(info));
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.user = user;
    info.protocols = protocols;
    info.gid = -1;
    info.uid = -1;
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    if (uv_loop) {
        info.options |= LWS_SERVER_OPTION_LIBUV;
        info.foreign_loops = loops;
    }
    info.timeout_secs = (unsigned int)timeout_seconds;
    info.max_http_header_data = (unsigned short)head_byte_count;
    info.pt_serv_buf_size = (unsigned int)service_byte_count;
    return lws_create_context(&info);
}

// A virtual host without a listening socket. One of a server reads its certificate in
// LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS; one of clients uses `client_context`.
static inline struct lws_vhost *docdb_lws_create_vhost(
    struct lws_context *context, const char *name, const struct lws_protocols *protocols, int is_server, int is_tls,
    SSL_CTX *client_context, int timeout_seconds) {
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof(info));
    info.port = is_server ? CONTEXT_PORT_NO_LISTEN_SERVER : CONTEXT_PORT_NO_LISTEN;
    info.vhost_name = name;
    info.protocols = protocols;
    info.alpn = "http/1.1";
    info.http_proxy_address = "";
    info.timeout_secs_ah_idle = (unsigned int)timeout_seconds;
    info.keepalive_timeout = timeout_seconds;
    info.connect_timeout_secs = 600;
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
    if (is_tls) info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
    if (is_tls && is_server) info.options |= LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX;
    if (!is_server) info.provided_client_ssl_ctx = client_context;
    return lws_create_vhost(context, &info);
}

static inline struct lws *docdb_lws_connect(
    struct lws_context *context, struct lws_vhost *vhost, const char *address, int port, const char *path,
    const char *host, const char *protocol, int is_tls, int checks_host, void *opaque) {
    struct lws_client_connect_info info;
    memset(&info, 0, sizeof(info));
    info.context = context;
    info.vhost = vhost;
    info.address = address;
    info.port = port;
    info.path = path;
    info.host = host;
    info.protocol = protocol;
    info.local_protocol_name = protocol;
    info.alpn = "http/1.1";
    info.opaque_user_data = opaque;
    info.ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT;
    if (is_tls) info.ssl_connection |= LCCSCF_USE_SSL;
    if (!checks_host) info.ssl_connection |= LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK;
    return lws_client_connect_via_info(&info);
}

static inline struct lws *docdb_lws_adopt(
    struct lws_vhost *vhost, int descriptor, int is_listener, const char *protocol, void *opaque) {
    lws_adopt_desc_t info;
    memset(&info, 0, sizeof(info));
    info.vh = vhost;
    info.opaque = opaque;
    info.vh_prot_name = protocol;
    if (is_listener) {
        info.type = LWS_ADOPT_RAW_FILE_DESC;
        info.fd.filefd = descriptor;
    } else {
        info.type = (lws_adoption_type)(LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL);
        info.fd.sockfd = descriptor;
    }
    return lws_adopt_descriptor_vhost_via_info(&info);
}

static inline void docdb_lws_kill(struct lws *wsi) { lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC); }

// TLS 1.3 only, small while idle, no session tickets to clients that reconnect rarely.
static inline void docdb_ssl_configure(SSL_CTX *context) {
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_tlsext_servername_callback(context, NULL);
}

#endif
