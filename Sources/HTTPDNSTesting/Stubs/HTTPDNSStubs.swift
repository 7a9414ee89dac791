// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A set of stubs: requests that a test answers in place of servers.
public final class HTTPDNSStubs: Sendable {
    /// Creates a set without stubs.
    public init() {}
}
