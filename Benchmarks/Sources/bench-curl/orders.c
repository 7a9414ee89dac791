// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#include "orders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refuse(const char *flag, const char *why) {
    fprintf(stderr, "bench-curl: %s %s\n", flag, why);
    exit(2);
}

static long count(const char *flag, const char *text, long minimum) {
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < minimum) {
        refuse(flag, "takes a number");
    }
    return number;
}

struct orders read_orders(int argc, char **argv) {
    struct orders orders = {.in_flight = 1};
    for (int i = 1; i < argc; i += 2) {
        const char *flag = argv[i];
        if (i + 1 == argc) {
            refuse(flag, "needs a value");
        }
        char *value = argv[i + 1];
        if (!strcmp(flag, "--url")) {
            orders.url = value;
        } else if (!strcmp(flag, "--host")) {
            orders.host = value;
        } else if (!strcmp(flag, "--addresses")) {
            // The first is connected to, as by the other contenders.
            value[strcspn(value, ",")] = 0;
            orders.address = value;
        } else if (!strcmp(flag, "--in-flight")) {
            orders.in_flight = count(flag, value, 1);
        } else if (!strcmp(flag, "--requests")) {
            orders.requests = count(flag, value, 1);
        } else if (!strcmp(flag, "--warm-up")) {
            orders.warm_up = count(flag, value, 0);
        } else if (!strcmp(flag, "--body-bytes")) {
            orders.body_bytes = count(flag, value, 0);
        } else if (!strcmp(flag, "--http-version")) {
            orders.http2 = !strcmp(value, "2");
        } else if (!strcmp(flag, "--cacert")) {
            orders.certificate_file = value;
        } else if (!strcmp(flag, "--discard")) {
            orders.discard = count(flag, value, 0) > 0;
        } else if (!strcmp(flag, "--save")) {
            orders.save_path = value;
        } else if (!strcmp(flag, "--post")) {
            orders.post_bytes = count(flag, value, 1);
        } else if (!strcmp(flag, "--upload-file")) {
            orders.upload_path = value;
        } else if (!strcmp(flag, "--upload-stream")) {
            orders.upload_stream = count(flag, value, 0) > 0;
        } else if (!strcmp(flag, "--silent")) {
            orders.silent = count(flag, value, 1);
        } else if (!strcmp(flag, "--silent-url")) {
            orders.silent_url = value;
        } else if (!strcmp(flag, "--slow")) {
            orders.slow = count(flag, value, 1);
        } else if (!strcmp(flag, "--slow-url")) {
            orders.slow_url = value;
        } else if (!strcmp(flag, "--started")) {
            orders.started = strtod(value, NULL);
        } else {
            refuse(flag, "is unknown");
        }
    }
    if (!orders.url || !orders.host || !orders.address || !orders.requests) {
        refuse("--url, --host, --addresses and --requests", "are needed");
    }
    return orders;
}
