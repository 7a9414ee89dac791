// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Threads that run one at a time: those of the product, and none of the C library or of libcurl.
#define _GNU_SOURCE
#include "model.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 256 };

typedef struct {
    int used, waits;
    // A real thread is kept for the next start: one that ends or begins would allocate beside the others.
    int exists;
    pthread_t thread;
    int64_t until;
    int epoll;
    void *condition;
    int signaled;
    sem_t turn;
    void *(*start)(void *);
    void *argument;
} Thread;

static Thread threads[THREADS];
// Of the highest thread ever used, so that a look at all of them is short.
static int thread_count;
static sem_t scheduler;
static __thread int own = -1;
static int running;

sim_models sim_model;

void sim_fix_process(char **arguments) {
    static const char *variable = "SWIFT_DETERMINISTIC_HASHING", *allocator = "GLIBC_TUNABLES";
    int present = personality(0xffffffff);
    if (getenv(variable) && getenv(allocator) && (present & ADDR_NO_RANDOMIZE)) return;
    setenv(variable, "1", 1);
    // The caches of the allocator, of 7 pieces of each size, are too small for the tasks of a world.
    setenv(allocator, "glibc.malloc.tcache_count=2000", 0);
    // A container may refuse it: then two processes differ, and the worlds are as good.
    if (present >= 0 && personality((unsigned long)present | ADDR_NO_RANDOMIZE) < 0 && (present & ADDR_NO_RANDOMIZE) == 0) return;
    execv("/proc/self/exe", arguments);
}

void sim_keep_processor(int number) {
    cpu_set_t usable, kept;
    if (sched_getaffinity(0, sizeof usable, &usable) != 0) return;
    int present = sched_getcpu(), place = 0;
    CPU_ZERO(&kept);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &usable)) continue;
        if (number < 0 ? i == present : place == number % CPU_COUNT(&usable)) CPU_SET(i, &kept);
        place++;
    }
    sched_setaffinity(0, sizeof kept, &kept);
}

int sim_memory_file(const char *text) {
    int file = memfd_create("simulation", MFD_CLOEXEC);
    if (file < 0 || write(file, text, strlen(text)) < 0) abort();
    return file;
}

int sim_is_running(void) { return running; }
int sim_thread(void) { return own; }

void sim_begin(const sim_models *models, uint64_t random_seed) {
    sim_model = *models;
    sim_seed(random_seed);
    sim_shift_wall(0);
    sim_hold_reads(0);
    sim_network_begin();
    sim_threads_begin();
    running = 1;
}

int sim_end(void) {
    running = 0;
    sim_network_end();
    return sim_threads_end();
}

void sim_threads_begin(void) {
    static int is_ready;
    if (!is_ready) {
        sem_init(&scheduler, 0, 0);
        for (int i = 0; i < THREADS; i++) sem_init(&threads[i].turn, 0, 0);
        is_ready = 1;
    }
}

int sim_threads_end(void) {
    int left = 0;
    for (int i = 0; i < thread_count; i++) left += threads[i].used;
    return left;
}

static void take_turn(int thread) {
    while (sem_wait(&threads[thread].turn) != 0) {}
}

void sim_wait(int64_t until, int epoll, void *condition) {
    Thread *thread = &threads[own];
    thread->waits = 1;
    thread->until = until;
    thread->epoll = epoll;
    thread->condition = condition;
    thread->signaled = 0;
    sem_post(&scheduler);
    take_turn(own);
    thread->waits = 0;
}

static void *run(void *argument) {
    own = (int)(intptr_t)argument;
    for (;;) {
        take_turn(own);
        threads[own].start(threads[own].argument);
        threads[own].used = 0;
        sem_post(&scheduler);
    }
    return NULL;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    LIBRARY(pthread_create);
    Dl_info theirs, ours;
    // The product is linked into the program, which this function is in too.
    if (!running || !dladdr((void *)start, &theirs) || !dladdr((void *)sim_wait, &ours)
        || theirs.dli_fbase != ours.dli_fbase)
        return library(thread, attributes, start, argument);
    if (sim_refuses_threads()) return EAGAIN;
    int i = 0;
    while (i < THREADS && threads[i].used) i++;
    if (i == THREADS) return EAGAIN;
    threads[i].used = 1;
    threads[i].waits = 0;
    threads[i].start = start;
    threads[i].argument = argument;
    if (i >= thread_count) thread_count = i + 1;
    if (!threads[i].exists) {
        pthread_attr_t detached;
        pthread_attr_init(&detached);
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        int failure = library(&threads[i].thread, &detached, run, (void *)(intptr_t)i);
        pthread_attr_destroy(&detached);
        if (failure) {
            threads[i].used = 0;
            return failure;
        }
        threads[i].exists = 1;
    }
    *thread = threads[i].thread;
    return 0;
}

static int is_runnable(Thread *thread) {
    if (!thread->used) return 0;
    if (!thread->waits || thread->signaled || thread->until <= sim_time) return 1;
    return thread->epoll >= 0 && sim_is_ready(thread->epoll);
}

int sim_runnable(int *list, int most) {
    int count = 0;
    for (int i = 0; i < thread_count && count < most; i++)
        if (is_runnable(&threads[i])) list[count++] = i;
    return count;
}

void sim_turn(int thread) {
    sem_post(&threads[thread].turn);
    while (sem_wait(&scheduler) != 0) {}
}

int64_t sim_next(void) {
    int64_t at = sim_network_next();
    for (int i = 0; i < thread_count; i++)
        if (threads[i].used && threads[i].waits && threads[i].until < at) at = threads[i].until;
    return at;
}

// Files: a file system that does not answer. Only threads wait for it; what no world is about is read before.

static int64_t reads_wait_until;

void sim_hold_reads(int64_t until) { reads_wait_until = until; }

ssize_t read(int descriptor, void *bytes, size_t count) {
    LIBRARY(read);
    struct stat status;
    if (running && own >= 0 && sim_time < reads_wait_until && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))
        sim_wait(reads_wait_until, -1, NULL);
    return library(descriptor, bytes, count);
}

// Conditions: a thread of the world that waits gives its turn back.

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *time) {
    static __typeof__(&pthread_cond_timedwait) library;
    if (!library) library = (__typeof__(&pthread_cond_timedwait))dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!running || own < 0) return library(condition, mutex, time);
    struct timespec present;
    clock_gettime(CLOCK_MONOTONIC, &present);
    int64_t left = (time->tv_sec - present.tv_sec) * 1000000000 + time->tv_nsec - present.tv_nsec;
    pthread_mutex_unlock(mutex);
    sim_wait(sim_time + (left > 0 ? left : 0), -1, condition);
    pthread_mutex_lock(mutex);
    return threads[own].signaled ? 0 : ETIMEDOUT;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    static __typeof__(&pthread_cond_wait) library;
    if (!library) library = (__typeof__(&pthread_cond_wait))dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
    if (!running || own < 0) return library(condition, mutex);
    pthread_mutex_unlock(mutex);
    sim_wait(INT64_MAX, -1, condition);
    pthread_mutex_lock(mutex);
    return 0;
}

static void wake(void *condition, int all) {
    for (int i = 0; i < thread_count; i++) {
        if (!threads[i].used || !threads[i].waits || threads[i].condition != condition || threads[i].signaled) continue;
        threads[i].signaled = 1;
        if (!all) return;
    }
}

int pthread_cond_signal(pthread_cond_t *condition) {
    static __typeof__(&pthread_cond_signal) library;
    if (!library) library = (__typeof__(&pthread_cond_signal))dlvsym(RTLD_NEXT, "pthread_cond_signal", "GLIBC_2.3.2");
    if (running) wake(condition, 0);
    return library(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    static __typeof__(&pthread_cond_broadcast) library;
    if (!library)
        library = (__typeof__(&pthread_cond_broadcast))dlvsym(RTLD_NEXT, "pthread_cond_broadcast", "GLIBC_2.3.2");
    if (running) wake(condition, 1);
    return library(condition);
}

int nanosleep(const struct timespec *time, struct timespec *left) {
    LIBRARY(nanosleep);
    if (!running || own < 0) return library(time, left);
    sim_wait(sim_time + time->tv_sec * 1000000000 + time->tv_nsec, -1, NULL);
    return 0;
}

int usleep(unsigned int microseconds) {
    struct timespec time = { .tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000 };
    return nanosleep(&time, NULL);
}
