// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

// Counts what all threads allocate from now on. The program's own malloc stands before the C library's, so that what
// libcurl, Swift's runtime and the library ask for passes here.
void allocation_counter_start(void);

// Ends counting and says how often memory was asked for: malloc, calloc, realloc and the aligned ones.
uint64_t allocation_counter_stop(void);

// Whether counting works on this system (glibc).
bool allocation_counter_works(void);

// The bytes that the program holds of the C library's memory, its bookkeeping included.
uint64_t allocated_bytes(void);

#endif
