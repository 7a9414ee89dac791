// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// What the files of this folder share.
#pragma once
#include "simulation.h"
#include <dlfcn.h>

// The function of the C library that one here replaces.
#define LIBRARY(name)                                 \
    static __typeof__(&name) library;                 \
    if (!library) library = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

enum { SIM_DESCRIPTORS = 4096 };

extern sim_models sim_model;
// The virtual time, in nanoseconds.
extern int64_t sim_time;
void sim_seed(uint64_t seed);
void sim_network_begin(void);
void sim_network_end(void);
int64_t sim_network_next(void);
int sim_refuses_threads(void);
// Notes that time goes on, which makes arrivals visible.
void sim_network_pass(int64_t until);
// Whether an epoll descriptor has an event; takes nothing.
int sim_is_ready(int epoll);
void sim_threads_begin(void);
int sim_threads_end(void);
// The thread's number, or -1 for the scheduler and for threads of others.
int sim_thread(void);
// Gives the turn back until the time, or until the epoll descriptor is ready (-1: none), or the condition is signaled (NULL: none).
void sim_wait(int64_t until, int epoll, void *condition);
