// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Lookups of IPv4 addresses by the C library and by libunbound, at a name server of 127.0.0.1.
#ifndef PEER_LOOKUPS_H
#define PEER_LOOKUPS_H

// getaddrinfo on the calling thread, whose name server becomes the one at this port. Returns 0, or its error.
int peer_system_lookup(int port, const char *name);

// A context of libunbound that forwards to the name server; NULL where the library is not installed.
void *peer_unbound_create(int port);
// Returns 0 when the name has an address.
int peer_unbound_lookup(void *context, const char *name);
void peer_unbound_destroy(void *context);

#endif
