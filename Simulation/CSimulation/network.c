// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// TCP connections and the name service. A socket of a world has a real descriptor, so that its number is one of the process.
#define _GNU_SOURCE
#include "model.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct Piece {
    struct Piece *next;
    int64_t at;
    int kind;
    size_t used, count;
    char bytes[];
} Piece;

typedef struct {
    int number, family, type, protocol;
    int connecting, fate;
    int64_t connected_at;
    struct sockaddr_storage peer;
    socklen_t peer_length;
    int local_port;
    int shut;  // by the client
    Piece *first, *last;
} Connection;

typedef struct {
    int used;
    uint32_t events;
    epoll_data_t data;
} Watch;

typedef struct {
    Watch *watches;  // by descriptor
    int waker;       // the eventfd that it watches; 0 if none
    epoll_data_t waker_data;
    // The number of changes when nothing was ready.
    uint64_t idle_at;
} Poller;

static Connection *connections[SIM_DESCRIPTORS];
static Poller pollers[SIM_DESCRIPTORS];
// The highest poller ever used, so that a look at all of them is short.
static int last_poller;
static uint8_t is_waker[SIM_DESCRIPTORS], is_woken[SIM_DESCRIPTORS];
// Grows with everything that can make a poller ready, or that moves the next arrival.
static uint64_t changes = 1;
// The descriptors of connections, in the order of their creation.
static int open_descriptors[SIM_DESCRIPTORS], open_count;
static int last_number;
static int refuses_sockets, refuses_threads;

static Connection *connection(int descriptor) {
    return sim_is_running() && descriptor >= 0 && descriptor < SIM_DESCRIPTORS ? connections[descriptor] : NULL;
}

int sim_open_sockets(void) { return open_count; }
void sim_refuse(int sockets, int threads) {
    refuses_sockets = sockets;
    refuses_threads = threads;
}
int sim_refuses_threads(void) { return refuses_threads; }

static void drop(int descriptor) {
    Connection *dropped = connections[descriptor];
    connections[descriptor] = NULL;
    changes++;
    for (Piece *piece = dropped->first, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    free(dropped);
    int i = 0;
    while (open_descriptors[i] != descriptor) i++;
    memmove(&open_descriptors[i], &open_descriptors[i + 1], (size_t)(--open_count - i) * sizeof(int));
}

void sim_network_begin(void) {
    last_number = 0;
    refuses_sockets = refuses_threads = 0;
}

void sim_network_end(void) {
    while (open_count) {
        int descriptor = open_descriptors[0];
        drop(descriptor);
        close(descriptor);
    }
    for (int i = 0; i <= last_poller; i++) {
        free(pollers[i].watches);
        pollers[i] = (Poller){ 0 };
    }
    memset(is_waker, 0, sizeof is_waker);
}

int socket(int family, int type, int protocol) {
    LIBRARY(socket);
    int is_modeled = sim_is_running() && (family == AF_INET || family == AF_INET6) && (type & 0xf) == SOCK_STREAM;
    if (is_modeled && refuses_sockets) {
        errno = EMFILE;
        return -1;
    }
    if (!is_modeled) return library(family, type, protocol);
    // A real socket would take most of the time that the kernel has here.
    static int kept = -1;
    if (kept < 0) kept = sim_memory_file("");
    int descriptor = fcntl(kept, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return descriptor;
    if (descriptor >= SIM_DESCRIPTORS) abort();
    Connection *created = calloc(1, sizeof(Connection));
    if (!created) abort();
    created->number = ++last_number;
    created->family = family;
    created->type = type;
    created->protocol = protocol;
    created->local_port = 20000 + last_number % 40000;
    connections[descriptor] = created;
    open_descriptors[open_count++] = descriptor;
    return descriptor;
}

int close(int descriptor) {
    LIBRARY(close);
    if (sim_is_running() && descriptor >= 0 && descriptor < SIM_DESCRIPTORS) {
        Connection *closed = connections[descriptor];
        if (closed) {
            int number = closed->number, was_connecting = closed->connecting;
            drop(descriptor);
            if (was_connecting) sim_model.closed(number);
        }
        is_waker[descriptor] = 0;
        free(pollers[descriptor].watches);
        pollers[descriptor] = (Poller){ 0 };
        for (int i = 0; i <= last_poller; i++)
            if (pollers[i].watches) pollers[i].watches[descriptor].used = 0;
    }
    return library(descriptor);
}

// The product tries certificates on a socket of its own: those on 127.0.0.1 are real.
static void make_real_for_loopback(int descriptor, const struct sockaddr *address) {
    Connection *c = connection(descriptor);
    if (!c || address->sa_family != AF_INET || ((const struct sockaddr_in *)address)->sin_addr.s_addr != htonl(INADDR_LOOPBACK))
        return;
    LIBRARY(socket);
    int real = library(c->family, c->type, c->protocol);
    drop(descriptor);
    if (real < 0 || dup3(real, descriptor, O_CLOEXEC) < 0) abort();
    close(real);
}

int bind(int descriptor, const struct sockaddr *address, socklen_t length) {
    LIBRARY(bind);
    make_real_for_loopback(descriptor, address);
    return library(descriptor, address, length);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
    LIBRARY(connect);
    make_real_for_loopback(descriptor, address);
    Connection *connecting = connection(descriptor);
    if (!connecting) return library(descriptor, address, length);
    memcpy(&connecting->peer, address, length);
    connecting->peer_length = length;
    sim_connection_fate fate;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        fate = sim_model.connecting(connecting->number, (const uint8_t *)&v4->sin_addr, 4, ntohs(v4->sin_port));
    } else {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        fate = sim_model.connecting(connecting->number, (const uint8_t *)&v6->sin6_addr, 16, ntohs(v6->sin6_port));
    }
    connecting->connecting = 1;
    connecting->fate = fate.fate;
    connecting->connected_at = fate.fate == SIM_DROP ? INT64_MAX : sim_time + fate.delay;
    changes++;
    errno = EINPROGRESS;
    return -1;
}

static int has_answer(Connection *c) { return c->connecting && sim_time >= c->connected_at; }
static int is_refused(Connection *c) { return has_answer(c) && c->fate == SIM_REFUSE; }
static int is_open(Connection *c) { return has_answer(c) && c->fate == SIM_ACCEPT; }
static Piece *arrived(Connection *c) { return is_open(c) && c->first && c->first->at <= sim_time ? c->first : NULL; }

void sim_push(int number, int64_t at, const char *bytes, size_t count, int kind) {
    Connection *receiver = NULL;
    for (int i = open_count; i-- > 0 && !receiver;)
        if (connections[open_descriptors[i]]->number == number) receiver = connections[open_descriptors[i]];
    if (!receiver) return;
    Piece *piece = malloc(sizeof(Piece) + count);
    if (!piece) abort();
    // A stream keeps its order.
    if (receiver->last && receiver->last->at > at) at = receiver->last->at;
    *piece = (Piece){ .at = at, .kind = kind, .count = count };
    memcpy(piece->bytes, bytes, count);
    if (receiver->last) receiver->last->next = piece;
    else receiver->first = piece;
    receiver->last = piece;
    changes++;
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    LIBRARY(send);
    Connection *c = connection(descriptor);
    if (!c) return library(descriptor, bytes, count, flags);
    if (!has_answer(c)) {
        errno = EAGAIN;
        return -1;
    }
    Piece *piece = arrived(c);
    if (is_refused(c) || c->shut || (piece && piece->kind == SIM_RESET)) {
        errno = is_refused(c) ? ECONNREFUSED : piece ? ECONNRESET : EPIPE;
        return -1;
    }
    sim_model.received(c->number, bytes, count);
    return (ssize_t)count;
}

ssize_t recv(int descriptor, void *bytes, size_t count, int flags) {
    LIBRARY(recv);
    Connection *c = connection(descriptor);
    if (!c) return library(descriptor, bytes, count, flags);
    if (is_refused(c)) {
        errno = ECONNREFUSED;
        return -1;
    }
    if (c->shut) return 0;
    Piece *piece = arrived(c);
    if (!piece || piece->kind == SIM_RESET) {
        errno = piece ? ECONNRESET : EAGAIN;
        return -1;
    }
    if (piece->kind == SIM_END) return 0;
    size_t taken = piece->count - piece->used < count ? piece->count - piece->used : count;
    memcpy(bytes, piece->bytes + piece->used, taken);
    if (flags & MSG_PEEK) return (ssize_t)taken;
    piece->used += taken;
    if (piece->used == piece->count) {
        c->first = piece->next;
        if (!c->first) c->last = NULL;
        changes++;
        free(piece);
    }
    return (ssize_t)taken;
}

int shutdown(int descriptor, int how) {
    LIBRARY(shutdown);
    Connection *c = connection(descriptor);
    if (!c) return library(descriptor, how);
    c->shut = 1;
    changes++;
    return 0;
}

int getsockopt(int descriptor, int level, int name, void *value, socklen_t *length) {
    LIBRARY(getsockopt);
    Connection *c = connection(descriptor);
    if (!c) return library(descriptor, level, name, value, length);
    memset(value, 0, *length);
    if (level == SOL_SOCKET && name == SO_ERROR) *(int *)value = is_refused(c) ? ECONNREFUSED : 0;
    if (level == SOL_SOCKET && name == SO_TYPE) *(int *)value = SOCK_STREAM;
    if (level == IPPROTO_TCP && name == TCP_INFO) ((struct tcp_info *)value)->tcpi_state = is_open(c) ? TCP_ESTABLISHED : TCP_SYN_SENT;
    return 0;
}

int setsockopt(int descriptor, int level, int name, const void *value, socklen_t length) {
    LIBRARY(setsockopt);
    return connection(descriptor) ? 0 : library(descriptor, level, name, value, length);
}

int getpeername(int descriptor, struct sockaddr *address, socklen_t *length) {
    LIBRARY(getpeername);
    Connection *c = connection(descriptor);
    if (!c) return library(descriptor, address, length);
    if (!is_open(c)) {
        errno = ENOTCONN;
        return -1;
    }
    memcpy(address, &c->peer, *length < c->peer_length ? *length : c->peer_length);
    *length = c->peer_length;
    return 0;
}

int getsockname(int descriptor, struct sockaddr *address, socklen_t *length) {
    LIBRARY(getsockname);
    Connection *c = connection(descriptor);
    if (!c) return library(descriptor, address, length);
    struct sockaddr_storage own = { 0 };
    socklen_t own_length;
    if (c->family == AF_INET) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)&own;
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)c->local_port);
        v4->sin_addr.s_addr = htonl(0x0a000001);
        own_length = sizeof *v4;
    } else {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&own;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)c->local_port);
        v6->sin6_addr.s6_addr[0] = 0xfd;
        v6->sin6_addr.s6_addr[15] = 1;
        own_length = sizeof *v6;
    }
    memcpy(address, &own, *length < own_length ? *length : own_length);
    *length = own_length;
    return 0;
}

int ioctl(int descriptor, unsigned long request, ...) {
    LIBRARY(ioctl);
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    Connection *c = connection(descriptor);
    if (!c || request != FIONREAD) return library(descriptor, request, argument);
    int count = 0;
    for (Piece *piece = arrived(c); piece && piece->at <= sim_time; piece = piece->next) count += (int)(piece->count - piece->used);
    *(int *)argument = count;
    return 0;
}

static uint32_t state(int descriptor, uint32_t wanted) {
    Connection *c = connections[descriptor];
    uint32_t result = 0;
    if ((wanted & POLLIN) && (arrived(c) || is_refused(c) || c->shut)) result |= POLLIN;
    if ((wanted & POLLOUT) && has_answer(c)) result |= POLLOUT;
    if (is_refused(c)) result |= POLLERR | POLLHUP;
    Piece *piece = arrived(c);
    if (piece && piece->kind == SIM_RESET) result |= POLLERR | POLLHUP | POLLIN;
    return result;
}

int poll(struct pollfd *list, nfds_t count, int timeout) {
    LIBRARY(poll);
    int is_modeled = 0;
    for (nfds_t i = 0; i < count; i++) is_modeled |= connection(list[i].fd) != NULL;
    if (!is_modeled) return library(list, count, timeout);
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        list[i].revents = connection(list[i].fd) ? (short)state(list[i].fd, (uint32_t)list[i].events) : 0;
        ready += list[i].revents != 0;
    }
    return ready;
}

// What wakes a loop: an eventfd, whose events are reported once each.

int eventfd(unsigned int count, int flags) {
    LIBRARY(eventfd);
    int descriptor = library(count, flags);
    if (!sim_is_running() || descriptor < 0) return descriptor;
    if (descriptor >= SIM_DESCRIPTORS) abort();
    is_waker[descriptor] = 1;
    is_woken[descriptor] = 0;
    return descriptor;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    LIBRARY(write);
    if (!sim_is_running() || descriptor < 0 || descriptor >= SIM_DESCRIPTORS || !is_waker[descriptor])
        return library(descriptor, bytes, count);
    is_woken[descriptor] = 1;
    changes++;
    return (ssize_t)count;
}

int epoll_ctl(int poller, int operation, int descriptor, struct epoll_event *event) {
    LIBRARY(epoll_ctl);
    int watches_waker = sim_is_running() && descriptor >= 0 && descriptor < SIM_DESCRIPTORS && is_waker[descriptor];
    if (!watches_waker && !connection(descriptor)) return library(poller, operation, descriptor, event);
    changes++;
    if (poller > last_poller) last_poller = poller;
    if (watches_waker) {
        pollers[poller].waker = operation == EPOLL_CTL_DEL ? 0 : descriptor;
        if (event) pollers[poller].waker_data = event->data;
        return 0;
    }
    if (!pollers[poller].watches) pollers[poller].watches = calloc(SIM_DESCRIPTORS, sizeof(Watch));
    Watch *watch = &pollers[poller].watches[descriptor];
    if (operation == EPOLL_CTL_ADD ? watch->used : !watch->used) {
        errno = operation == EPOLL_CTL_ADD ? EEXIST : ENOENT;
        return -1;
    }
    if (operation == EPOLL_CTL_DEL) watch->used = 0;
    else *watch = (Watch){ .used = 1, .events = event->events, .data = event->data };
    return 0;
}

// Writes the events of a poller; counts them only when `events` is NULL.
static int ready(int descriptor, struct epoll_event *events, int most) {
    Poller *poller = &pollers[descriptor];
    int count = 0;
    if (poller->waker && is_woken[poller->waker] && most > 0) {
        if (events) {
            events[0] = (struct epoll_event){ .events = EPOLLIN, .data = poller->waker_data };
            is_woken[poller->waker] = 0;
        }
        count = 1;
    }
    if (!poller->watches) return count;
    for (int i = 0; i < open_count && count < most; i++) {
        Watch *watch = &poller->watches[open_descriptors[i]];
        if (!watch->used) continue;
        uint32_t found = state(open_descriptors[i], watch->events);
        if (!found) continue;
        if (events) {
            events[count].events = found;
            events[count].data = watch->data;
        }
        count++;
    }
    return count;
}

int sim_is_ready(int poller) {
    if (pollers[poller].idle_at == changes) return 0;
    if (ready(poller, NULL, 1)) return 1;
    pollers[poller].idle_at = changes;
    return 0;
}

int epoll_wait(int poller, struct epoll_event *events, int most, int timeout) {
    LIBRARY(epoll_wait);
    if (!sim_is_running() || sim_thread() < 0) return library(poller, events, most, timeout);
    static int turns[SIM_DESCRIPTORS];
    int count = ready(poller, events, most);
    if ((count || timeout == 0) && ++turns[poller] < 40) return count;
    if (count || timeout == 0) {
        // A loop that asks again and again would never let time go on: each 40th time it waits for 20 us.
        turns[poller] = 0;
        sim_wait(sim_time + 20000, -1, NULL);
        return count ? count : ready(poller, events, most);
    }
    turns[poller] = 0;
    sim_wait(timeout < 0 ? INT64_MAX : sim_time + (int64_t)timeout * 1000000, poller, NULL);
    return ready(poller, events, most);
}

int64_t sim_network_next(void) {
    static int64_t next;
    static uint64_t known_at;
    if (known_at == changes) return next;
    known_at = changes;
    next = INT64_MAX;
    for (int i = 0; i < open_count; i++) {
        Connection *c = connections[open_descriptors[i]];
        if (!c->connecting) continue;
        if (c->connected_at > sim_time && c->connected_at < next) next = c->connected_at;
        if (c->first && c->first->at > sim_time && c->first->at < next) next = c->first->at;
    }
    return next;
}

void sim_network_pass(int64_t until) {
    if (sim_network_next() <= until) changes++;
}

// The name service.

typedef struct {
    struct addrinfo info;
    struct sockaddr_storage address;
    int is_ours;
} Entry;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    LIBRARY(getaddrinfo);
    if (!sim_is_running() || sim_thread() < 0) return library(name, service, hints, result);
    sim_name_answer answer = { 0 };
    sim_model.named(name, hints->ai_family, &answer);
    if (answer.delay > 0) sim_wait(sim_time + answer.delay, -1, NULL);
    if (answer.error) return answer.error;
    struct addrinfo **next = result;
    *result = NULL;
    for (int i = 0; i < answer.count; i++) {
        Entry *entry = calloc(1, sizeof(Entry));
        if (!entry) return EAI_MEMORY;
        entry->is_ours = 1;
        entry->info.ai_socktype = SOCK_STREAM;
        entry->info.ai_addr = (struct sockaddr *)&entry->address;
        if (answer.lengths[i] == 4) {
            struct sockaddr_in *v4 = (struct sockaddr_in *)&entry->address;
            v4->sin_family = AF_INET;
            memcpy(&v4->sin_addr, answer.addresses[i], 4);
            entry->info.ai_family = AF_INET;
            entry->info.ai_addrlen = sizeof *v4;
        } else {
            struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&entry->address;
            v6->sin6_family = AF_INET6;
            memcpy(&v6->sin6_addr, answer.addresses[i], 16);
            entry->info.ai_family = AF_INET6;
            entry->info.ai_addrlen = sizeof *v6;
        }
        *next = &entry->info;
        next = &entry->info.ai_next;
    }
    return *result ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list) {
    LIBRARY(freeaddrinfo);
    // Nothing but the product calls both functions, and it frees an answer before the world ends.
    if (!sim_is_running() || sim_thread() < 0) {
        library(list);
        return;
    }
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}
