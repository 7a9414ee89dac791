// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// For accept4.
#define _GNU_SOURCE

#include "BenchmarkOrigin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    DESCRIPTOR_LIMIT = 65536,
    EVENTS_PER_TURN = 256,
    HEAD_CAPACITY = 512,
};

struct connection {
    // The bytes of "\r\n\r\n" that the last bytes read match.
    unsigned char matched;
    // Tells a response that is still due from one to a later connection with the same descriptor.
    uint32_t generation;
};

struct due {
    int descriptor;
    uint32_t generation;
    long long at;
};

// All delays are equal, so responses are due in the order of their requests: a queue is enough.
struct origin {
    int epoll;
    int listener;
    long long delay;
    char *response;
    size_t response_length;
    struct connection connections[DESCRIPTOR_LIMIT];
    struct due queue[DESCRIPTOR_LIMIT];
    uint32_t first;
    uint32_t count;
};

static long long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

int benchmark_origin_listen(const char *address, int *port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t length = sizeof name;
    int one = 1;
    if (inet_pton(AF_INET, address, &name.sin_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        return -1;
    }
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&name, sizeof name) || listen(listener, 4096) ||
        getsockname(listener, (struct sockaddr *)&name, &length)) {
        int reason = errno;
        close(listener);
        errno = reason;
        return -1;
    }
    *port = ntohs(name.sin_port);
    return listener;
}

// The fields that nginx sends with a file, so that a client reads as many as it does elsewhere.
static bool make_response(struct origin *origin, int body_bytes) {
    char *response = calloc(1, HEAD_CAPACITY + (size_t)body_bytes);
    if (!response) {
        return false;
    }
    int head = snprintf(response, HEAD_CAPACITY,
                        "HTTP/1.1 200 OK\r\n"
                        "Server: bench\r\n"
                        "Date: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
                        "Content-Type: application/octet-stream\r\n"
                        "Content-Length: %d\r\n"
                        "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
                        "Connection: keep-alive\r\n"
                        "ETag: \"65920080-400\"\r\n"
                        "Accept-Ranges: bytes\r\n"
                        "\r\n",
                        body_bytes);
    origin->response = response;
    origin->response_length = (size_t)head + (size_t)body_bytes;
    return true;
}

static void end(struct origin *origin, int descriptor) {
    origin->connections[descriptor].generation++;
    origin->connections[descriptor].matched = 0;
    close(descriptor);
}

// A response fits into the socket's buffer; a client that does not read is disconnected.
static void respond(struct origin *origin, int descriptor) {
    ssize_t sent = send(descriptor, origin->response, origin->response_length, MSG_NOSIGNAL);
    if (sent != (ssize_t)origin->response_length) {
        end(origin, descriptor);
    }
}

static void accept_all(struct origin *origin) {
    int descriptor;
    while ((descriptor = accept4(origin->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int one = 1;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (descriptor >= DESCRIPTOR_LIMIT || epoll_ctl(origin->epoll, EPOLL_CTL_ADD, descriptor, &event)) {
            close(descriptor);
        }
    }
}

static void take_request(struct origin *origin, int descriptor, long long now) {
    if (origin->delay == 0) {
        respond(origin, descriptor);
        return;
    }
    if (origin->count == DESCRIPTOR_LIMIT) {
        end(origin, descriptor);
        return;
    }
    struct due *due = &origin->queue[(origin->first + origin->count) % DESCRIPTOR_LIMIT];
    due->descriptor = descriptor;
    due->generation = origin->connections[descriptor].generation;
    due->at = now + origin->delay;
    origin->count++;
}

static void on_readable(struct origin *origin, int descriptor, long long now) {
    static const char terminator[] = "\r\n\r\n";
    char bytes[4096];
    ssize_t length = recv(descriptor, bytes, sizeof bytes, 0);
    if (length <= 0) {
        if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
            end(origin, descriptor);
        }
        return;
    }
    struct connection *connection = &origin->connections[descriptor];
    uint32_t generation = connection->generation;
    for (ssize_t i = 0; i < length; i++) {
        unsigned char matched = connection->matched;
        connection->matched = bytes[i] == terminator[matched] ? matched + 1 : bytes[i] == '\r';
        if (connection->matched == 4) {
            connection->matched = 0;
            take_request(origin, descriptor, now);
            if (connection->generation != generation) {
                return;
            }
        }
    }
}

static void respond_to_due(struct origin *origin, long long now) {
    while (origin->count > 0 && origin->queue[origin->first].at <= now) {
        struct due due = origin->queue[origin->first];
        origin->first = (origin->first + 1) % DESCRIPTOR_LIMIT;
        origin->count--;
        if (origin->connections[due.descriptor].generation == due.generation) {
            respond(origin, due.descriptor);
        }
    }
}

static int wait_time(const struct origin *origin) {
    if (origin->count == 0) {
        return -1;
    }
    long long left = origin->queue[origin->first].at - milliseconds();
    return left > 0 ? (int)left : 0;
}

int benchmark_origin_serve(int listener, int delay_milliseconds, int body_bytes) {
    struct origin *origin = calloc(1, sizeof *origin);
    struct epoll_event events[EVENTS_PER_TURN] = {{.events = EPOLLIN, .data.fd = listener}};
    if (!origin || !make_response(origin, body_bytes)) {
        free(origin);
        return -1;
    }
    origin->listener = listener;
    origin->delay = delay_milliseconds;
    origin->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (origin->epoll < 0 || epoll_ctl(origin->epoll, EPOLL_CTL_ADD, listener, &events[0])) {
        free(origin->response);
        free(origin);
        return -1;
    }
    for (;;) {
        int count = epoll_wait(origin->epoll, events, EVENTS_PER_TURN, wait_time(origin));
        long long now = milliseconds();
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener) {
                accept_all(origin);
            } else {
                on_readable(origin, events[i].data.fd, now);
            }
        }
        respond_to_due(origin, now);
    }
}
