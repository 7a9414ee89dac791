// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// What the runner tells a contender to do. The flags are those of the Swift contenders (Sources/Workload/Orders.swift).
#ifndef ORDERS_H
#define ORDERS_H

#include <stdbool.h>

struct orders {
    const char *url;
    const char *host;
    const char *address;
    const char *certificate_file;
    long in_flight;
    long requests;
    long warm_up;
    long body_bytes;
    // The length of the body of each POST; 0 for GETs.
    long post_bytes;
    // The file whose bytes each POST has; NULL for none. A stream of post_bytes is made as libcurl asks for it.
    const char *upload_path;
    bool upload_stream;
    bool http2;
    bool discard;
    // The file that each body is saved to; NULL for none.
    const char *save_path;
    long silent;
    const char *silent_url;
    // The number of requests to slow_url that are in flight besides; each is sent again when its response is there.
    long slow;
    const char *slow_url;
    // The time of the calendar at which the process started: the measurement begins then. With 0 it begins at the first measured
    // request.
    double started;
};

// Reads "--flag value" pairs; writes to standard error and ends the process with 2 when it cannot.
struct orders read_orders(int argc, char **argv);

#endif
