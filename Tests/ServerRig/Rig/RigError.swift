// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The failure of a test server or tool. It is the rig's failure, not the tested code's.
public struct RigError: Error, Sendable, CustomStringConvertible {
    /// The expected event and the actual state.
    public let description: String

    init(_ description: String) { self.description = description }
}
