// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// A server for measurements: one thread on epoll, kept connections, one fixed response, sent after a delay.
#ifndef BENCHMARK_ORIGIN_H
#define BENCHMARK_ORIGIN_H

// Listens on an IPv4 address; port 0 takes a free one. Stores the port and returns the socket, or -1 with errno set.
int benchmark_origin_listen(const char *address, int *port);

// Answers each GET on the listener's connections with 200 and a body of this length. Returns only on an error, with errno set.
int benchmark_origin_serve(int listener, int delay_milliseconds, int body_bytes);

#endif
