// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#include "loop.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    DESCRIPTOR_LIMIT = 65536,
    EVENTS_PER_TURN = 256,
};

// libcurl gives up its interest in a kept-alive socket after each request and takes it up again with the next. So the
// socket stays in epoll, and leaves it only when it makes noise while nobody wants it: two system calls less per request.
struct loop {
    CURLM *multi;
    int epoll;
    bool timer_armed;
    long long timer_at;
    unsigned char registered[DESCRIPTOR_LIMIT];
    unsigned char wanted[DESCRIPTOR_LIMIT];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static long long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static int on_interest(CURL *easy, curl_socket_t fd, int what, void *context, void *socket_context) {
    (void)easy;
    (void)socket_context;
    struct loop *loop = context;
    if (fd >= DESCRIPTOR_LIMIT) {
        fail("bench-curl: descriptor out of range");
    }
    loop->wanted[fd] = what == CURL_POLL_REMOVE ? 0 : what;
    if (!loop->wanted[fd] || loop->registered[fd] == loop->wanted[fd]) {
        return 0;
    }
    struct epoll_event event = {
        .events = ((what & CURL_POLL_IN) ? EPOLLIN : 0) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0),
        .data.fd = fd,
    };
    if (epoll_ctl(loop->epoll, loop->registered[fd] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event)) {
        fail("bench-curl: epoll_ctl");
    }
    loop->registered[fd] = loop->wanted[fd];
    return 0;
}

static int on_close(void *context, curl_socket_t fd) {
    struct loop *loop = context;
    loop->registered[fd] = loop->wanted[fd] = 0;
    return close(fd);
}

static int on_timer(CURLM *multi, long delay, void *context) {
    (void)multi;
    struct loop *loop = context;
    loop->timer_armed = delay >= 0;
    loop->timer_at = milliseconds() + delay;
    return 0;
}

struct loop *loop_create(void) {
    struct loop *loop = calloc(1, sizeof *loop);
    if (!loop || !(loop->multi = curl_multi_init()) || (loop->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0) {
        fail("bench-curl: cannot create the loop");
    }
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, 1024L);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, on_interest);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    return loop;
}

void loop_destroy(struct loop *loop) {
    curl_multi_cleanup(loop->multi);
    close(loop->epoll);
    free(loop);
}

CURLM *loop_multi(struct loop *loop) {
    return loop->multi;
}

void loop_prepare(struct loop *loop, CURL *easy) {
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, loop);
}

static int delay(const struct loop *loop, int at_most) {
    if (!loop->timer_armed) {
        return at_most;
    }
    long long left = loop->timer_at - milliseconds();
    left = left > 0 ? left : 0;
    return at_most >= 0 && at_most < left ? at_most : (int)left;
}

static void on_event(struct loop *loop, const struct epoll_event *event) {
    int fd = event->data.fd;
    int running;
    if (!loop->wanted[fd]) {
        if (loop->registered[fd]) {
            epoll_ctl(loop->epoll, EPOLL_CTL_DEL, fd, NULL);
            loop->registered[fd] = 0;
        }
        return;
    }
    int actions = ((event->events & EPOLLIN) ? CURL_CSELECT_IN : 0) | ((event->events & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                  ((event->events & (EPOLLERR | EPOLLHUP)) ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(loop->multi, fd, actions, &running);
}

void loop_reap(struct loop *loop, finished_function finished, void *context) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(loop->multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            // The message is gone once the handle is removed.
            CURL *easy = message->easy_handle;
            CURLcode result = message->data.result;
            curl_multi_remove_handle(loop->multi, easy);
            finished(easy, result, context);
        }
    }
}

void loop_turn(struct loop *loop, int at_most) {
    struct epoll_event events[EVENTS_PER_TURN];
    int count = epoll_wait(loop->epoll, events, EVENTS_PER_TURN, delay(loop, at_most));
    for (int i = 0; i < count; i++) {
        on_event(loop, &events[i]);
    }
    if (loop->timer_armed && milliseconds() >= loop->timer_at) {
        int running;
        loop->timer_armed = false;
        curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

void loop_run(struct loop *loop, const long *unfinished, finished_function finished, void *context) {
    while (*unfinished > 0) {
        loop_turn(loop, -1);
        loop_reap(loop, finished, context);
    }
}
