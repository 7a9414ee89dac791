// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#include "PeerLookups.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

int peer_system_lookup(int port, const char *name) {
    static __thread int known;
    if (known != port) {
        // glibc keeps a state that the program has changed, for this thread.
        if (res_init() != 0) return EAI_SYSTEM;
        _res.nscount = 1;
        memset(&_res.nsaddr_list[0], 0, sizeof _res.nsaddr_list[0]);
        _res.nsaddr_list[0].sin_family = AF_INET;
        _res.nsaddr_list[0].sin_port = htons((uint16_t)port);
        _res.nsaddr_list[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        known = port;
    }
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *result = NULL;
    int error = getaddrinfo(name, NULL, &hints, &result);
    if (error == 0) freeaddrinfo(result);
    return error;
}

// The beginning of struct ub_result, which unbound.h declares (Debian's libunbound-dev).
struct result {
    char *name;
    int type, class;
    char **data;
    int *lengths;
    char *canonical_name;
    int code;
    void *packet;
    int packet_length;
    int has_data;
};

static struct {
    void *(*create)(void);
    int (*set_option)(void *, const char *, const char *);
    int (*set_forwarder)(void *, const char *);
    int (*remove_zone)(void *, const char *);
    int (*resolve)(void *, const char *, int, int, struct result **);
    void (*free_result)(struct result *);
    void (*destroy)(void *);
} unbound;

void *peer_unbound_create(int port) {
    void *library = dlopen("libunbound.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    *(void **)&unbound.create = dlsym(library, "ub_ctx_create");
    *(void **)&unbound.set_option = dlsym(library, "ub_ctx_set_option");
    *(void **)&unbound.set_forwarder = dlsym(library, "ub_ctx_set_fwd");
    *(void **)&unbound.remove_zone = dlsym(library, "ub_ctx_zone_remove");
    *(void **)&unbound.resolve = dlsym(library, "ub_resolve");
    *(void **)&unbound.free_result = dlsym(library, "ub_resolve_free");
    *(void **)&unbound.destroy = dlsym(library, "ub_ctx_delete");
    char server[32];
    snprintf(server, sizeof server, "127.0.0.1@%d", port);
    void *context = unbound.create();
    // It answers names below test itself, and asks nobody on this machine, unless it is told to.
    if (unbound.set_option(context, "do-not-query-localhost:", "no") != 0 ||
        unbound.set_forwarder(context, server) != 0 || unbound.remove_zone(context, "test.") != 0) {
        unbound.destroy(context);
        return NULL;
    }
    return context;
}

int peer_unbound_lookup(void *context, const char *name) {
    struct result *result = NULL;
    int error = unbound.resolve(context, name, 1, 1, &result);
    if (error != 0) return error;
    int has_data = result->has_data;
    unbound.free_result(result);
    return has_data ? 0 : -1;
}

void peer_unbound_destroy(void *context) { unbound.destroy(context); }
