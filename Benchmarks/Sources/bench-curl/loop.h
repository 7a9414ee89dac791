// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// libcurl's multi handle driven by epoll.
#ifndef LOOP_H
#define LOOP_H

#include <curl/curl.h>

struct loop;

// Called for each transfer that ended; it may add transfers to the multi handle.
typedef void (*finished_function)(CURL *easy, CURLcode result, void *context);

struct loop *loop_create(void);
void loop_destroy(struct loop *loop);
CURLM *loop_multi(struct loop *loop);

// Sets the options that the loop needs on a transfer.
void loop_prepare(struct loop *loop, CURL *easy);

// Waits for events, at most so many milliseconds (-1: until the next one), and lets libcurl act on them.
void loop_turn(struct loop *loop, int at_most);

// Reports the transfers that have ended.
void loop_reap(struct loop *loop, finished_function finished, void *context);

// Runs until *unfinished, which `finished` counts down, is 0.
void loop_run(struct loop *loop, const long *unfinished, finished_function finished, void *context);

#endif
