// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

/// The tests that start servers: one after the other, for some of them count what a server hears within a time.
@Suite("Local provider over the network", .serialized)
enum OverTheNetwork {}
