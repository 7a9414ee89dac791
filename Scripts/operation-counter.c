// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Counts the reference-count operations and the allocations of a process, for Scripts/count-operations.
//
//   cc -shared -fPIC -O2 -o operation-counter.so operation-counter.c
//   OPERATION_COUNTS=counts.txt LD_PRELOAD=./operation-counter.so PROGRAM
//
// At the end of the process the file has one line for each kind: its name and the number of calls by all threads, libraries
// included. Calls inside libswiftCore do not pass here, and neither do those of a program with a static runtime.
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { RETAIN, RELEASE, BRIDGE_RETAIN, BRIDGE_RELEASE, MALLOC, CALLOC, REALLOC, ALIGNED, KIND_COUNT };

static const char *const names[KIND_COUNT] = {
    "retain", "release", "bridgeObjectRetain", "bridgeObjectRelease", "malloc", "calloc", "realloc", "aligned",
};
static atomic_ulong counts[KIND_COUNT];

static inline void note(enum kind kind) { atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed); }

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("OPERATION_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (int kind = 0; kind < KIND_COUNT; kind++) fprintf(file, "%s %lu\n", names[kind], atomic_load(&counts[kind]));
    fclose(file);
}

// The runtime's own function. Loading it may allocate, which the functions below do without asking for another one.
static void *next(const char *name, _Atomic(void *) *cache) {
    void *function = atomic_load_explicit(cache, memory_order_relaxed);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        if (!function) abort();
        atomic_store_explicit(cache, function, memory_order_relaxed);
    }
    return function;
}

// An operation on `n` references at once counts as one.
#define REFERENCE_OPERATION(result, name, kind, parameters, arguments)                                                             \
    result name parameters {                                                                                                       \
        static _Atomic(void *) cache;                                                                                              \
        note(kind);                                                                                                                \
        return ((result(*) parameters)next(#name, &cache)) arguments;                                                              \
    }

REFERENCE_OPERATION(void *, swift_retain, RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_retain_n, RETAIN, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void *, swift_tryRetain, RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_nonatomic_retain, RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_nonatomic_retain_n, RETAIN, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void *, swift_errorRetain, RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_unownedRetain, RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_unownedRetain_n, RETAIN, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void *, swift_unownedRetainStrong, RETAIN, (void *object), (object))
REFERENCE_OPERATION(void, swift_release, RELEASE, (void *object), (object))
REFERENCE_OPERATION(void, swift_release_n, RELEASE, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void, swift_nonatomic_release, RELEASE, (void *object), (object))
REFERENCE_OPERATION(void, swift_nonatomic_release_n, RELEASE, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void, swift_errorRelease, RELEASE, (void *object), (object))
REFERENCE_OPERATION(void, swift_unownedRelease, RELEASE, (void *object), (object))
REFERENCE_OPERATION(void, swift_unownedRelease_n, RELEASE, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void, swift_unownedRetainStrongAndRelease, RELEASE, (void *object), (object))
REFERENCE_OPERATION(void *, swift_bridgeObjectRetain, BRIDGE_RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_bridgeObjectRetain_n, BRIDGE_RETAIN, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void *, swift_nonatomic_bridgeObjectRetain, BRIDGE_RETAIN, (void *object), (object))
REFERENCE_OPERATION(void *, swift_nonatomic_bridgeObjectRetain_n, BRIDGE_RETAIN, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void, swift_bridgeObjectRelease, BRIDGE_RELEASE, (void *object), (object))
REFERENCE_OPERATION(void, swift_bridgeObjectRelease_n, BRIDGE_RELEASE, (void *object, uint32_t n), (object, n))
REFERENCE_OPERATION(void, swift_nonatomic_bridgeObjectRelease, BRIDGE_RELEASE, (void *object), (object))
REFERENCE_OPERATION(void, swift_nonatomic_bridgeObjectRelease_n, BRIDGE_RELEASE, (void *object, uint32_t n), (object, n))

// glibc's own functions under the names that remain reachable when these take the place of the usual ones.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
    note(MALLOC);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    note(CALLOC);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    note(REALLOC);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note(ALIGNED);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note(ALIGNED);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    note(ALIGNED);
    void *block = __libc_memalign(alignment, size);
    if (!block) return ENOMEM;
    *memory = block;
    return 0;
}
