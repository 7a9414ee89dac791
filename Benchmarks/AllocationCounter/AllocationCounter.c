// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#include "AllocationCounter.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic bool is_counting;
static _Atomic uint64_t count;

void allocation_counter_start(void) {
    atomic_store(&count, 0);
    atomic_store(&is_counting, true);
}

uint64_t allocation_counter_stop(void) {
    atomic_store(&is_counting, false);
    return atomic_load(&count);
}

#ifdef __GLIBC__
#include <malloc.h>

// The names under which glibc offers its own functions to those who stand before them.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static inline void note(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed))
        atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

void *malloc(size_t size) {
    note();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    note();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    note();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    note();
    void *block = __libc_memalign(alignment, size);
    if (!block) return ENOMEM;
    *memory = block;
    return 0;
}

bool allocation_counter_works(void) { return true; }

uint64_t allocated_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#else
bool allocation_counter_works(void) { return false; }
uint64_t allocated_bytes(void) { return 0; }
#endif
