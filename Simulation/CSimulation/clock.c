// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Time and random numbers.
#define _GNU_SOURCE
#include "model.h"
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int64_t sim_time;
static int64_t wall_shift;
static uint64_t random_seed, random_state;
static int64_t random_start, random_time;

int64_t sim_now(void) { return sim_time; }
void sim_set_now(int64_t nanoseconds) {
    sim_network_pass(nanoseconds);
    sim_time = nanoseconds;
}
void sim_shift_wall(int64_t nanoseconds) { wall_shift = nanoseconds; }
void sim_seed(uint64_t seed) {
    random_seed = seed;
    random_start = sim_time;
    sim_draw_again();
}
void sim_draw_again(void) { random_time = -1; }

// 2027-01-15, and a machine that started 1,000 s before.
static const int64_t wall_start = 1800000000000000000, monotonic_start = 1000000000000;

static int64_t clock_value(clockid_t clock) {
    return sim_time + (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ? wall_start + wall_shift : monotonic_start);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!sim_is_running()) return (int)syscall(SYS_clock_gettime, clock, time);
    int64_t value = clock_value(clock);
    time->tv_sec = value / 1000000000;
    time->tv_nsec = value % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *time, void *zone) {
    if (!sim_is_running()) return (int)syscall(SYS_gettimeofday, time, zone);
    int64_t value = clock_value(CLOCK_REALTIME);
    time->tv_sec = value / 1000000000;
    time->tv_usec = value % 1000000000 / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec value;
    clock_gettime(CLOCK_REALTIME, &value);
    if (result) *result = value.tv_sec;
    return value.tv_sec;
}

// SplitMix64, as in the program (Draw.swift).
static uint64_t next(void) {
    if (random_time != sim_time) {
        random_time = sim_time;
        random_state = random_seed ^ (uint64_t)(sim_time - random_start) * 0xD1B54A32D192ED03;
    }
    uint64_t value = random_state += 0x9E3779B97F4A7C15;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

// Swift's generator asks the kernel by this function. Replacing the generator itself would not reach the calls inside its library.
long syscall(long number, ...) {
    LIBRARY(syscall);
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) arguments[i] = va_arg(list, long);
    va_end(list);
    if (number != SYS_getrandom || !sim_is_running())
        return library(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
    unsigned char *bytes = (unsigned char *)arguments[0];
    size_t count = (size_t)arguments[1];
    for (size_t i = 0; i < count; i += 8) {
        uint64_t value = next();
        for (size_t j = i; j < count && j < i + 8; j++, value >>= 8) bytes[j] = (unsigned char)value;
    }
    return (long)count;
}
