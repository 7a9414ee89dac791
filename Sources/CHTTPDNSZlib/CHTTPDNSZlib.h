// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// zlib, which libcurl links too, and its macros as typed C inlines. There is no logic here.
#pragma once

#if defined(__has_include)
#if !__has_include(<zlib.h>)
#error "zlib's headers are missing. Debian and Ubuntu: apt-get install zlib1g-dev pkg-config"
#endif
#endif

// Without ZLIB_CONST: a module that imports another package's zlib as well, such as gRPC's, would see two different z_stream.
#include <zlib.h>

static inline int chttpdnszlib_deflate_init(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int chttpdnszlib_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
