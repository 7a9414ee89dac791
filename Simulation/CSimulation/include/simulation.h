// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// A process whose time, random numbers, network, name service and threads are models, for Simulation/Program.
//
// The functions of the C library that the product and libcurl call are defined here again, and so replace those of the library in
// the whole program. While no world runs they pass each call on. Of all threads one runs at a time: the scheduler gives each its turn.
#pragma once
#include <stddef.h>
#include <stdint.h>

// The outcome of a connection attempt: SIM_ACCEPT, SIM_REFUSE or SIM_DROP (no packet ever comes back), after `delay` nanoseconds.
enum { SIM_ACCEPT = 0, SIM_REFUSE = 1, SIM_DROP = 2 };
// What is on its way to the client: bytes, the end of the stream, a reset.
enum { SIM_BYTES = 0, SIM_END = 1, SIM_RESET = 2 };
// The most addresses of one answer of the name service.
enum { SIM_ADDRESSES = 8 };

typedef struct {
    int fate;
    int64_t delay;
} sim_connection_fate;

typedef struct {
    int error;      // EAI_...; 0 for an answer
    int64_t delay;  // nanoseconds
    int count;
    uint8_t addresses[SIM_ADDRESSES][16];
    int lengths[SIM_ADDRESSES];  // 4 or 16
} sim_name_answer;

// The models of the program. They are called on the thread that made the call, and only while it has its turn.
typedef struct {
    sim_connection_fate (*connecting)(int connection, const uint8_t *address, int length, int port);
    void (*received)(int connection, const char *bytes, size_t count);
    void (*closed)(int connection);
    void (*named)(const char *name, int family, sim_name_answer *answer);
} sim_models;

// Makes the program start again, once, where its addresses or its hashes would differ from process to process: then the order of
// things that are kept by their addresses would differ too.
void sim_fix_process(char **arguments);

// Makes the process stay on a processor: that of the number, modulo their count, or the present one for -1. A turn costs
// several times as much when it wakes a thread of another processor.
void sim_keep_processor(int number);

// Creates a file in memory with a text; its descriptor.
int sim_memory_file(const char *text);

// Begins and ends a world. Virtual time goes on from where the last world ended.
void sim_begin(const sim_models *models, uint64_t random_seed);
// Returns the number of threads that have not ended.
int sim_end(void);
int sim_is_running(void);

int64_t sim_now(void);
void sim_set_now(int64_t nanoseconds);
// Sets the wall clock this much before or behind the time that it would have; 0 in a new world.
void sim_shift_wall(int64_t nanoseconds);

// Puts something on its way to the client of a connection; `at` is the virtual time of its arrival.
void sim_push(int connection, int64_t at, const char *bytes, size_t count, int kind);
// The sockets of the world that are open.
int sim_open_sockets(void);
// Makes `socket` fail with EMFILE, or `pthread_create` with EAGAIN, while it is not 0.
void sim_refuse(int sockets, int threads);

// Lets each read from a file wait until then.
void sim_hold_reads(int64_t until);

// The threads that can go on now, at most `most`; the number of them.
int sim_runnable(int *list, int most);
// Lets a thread run until it waits.
void sim_turn(int thread);

// Begins the random numbers of this moment again. What a task draws depends on the time, and not on those that ran before it.
void sim_draw_again(void);
// The next moment at which a thread or a connection goes on, INT64_MAX if there is none.
int64_t sim_next(void);
